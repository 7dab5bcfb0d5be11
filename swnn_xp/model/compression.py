"""Fewer rows in the index: a part of them that has every label, as far as it goes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swnn_xp.rows.records import LabelRows

_ROWS_PER_LABEL = 10, 5, 3, 2, 1


def covering_rows(labels: LabelRows, keep: float, seed: int = 0) -> NDArray[np.int64]:
    """Choose a part of the rows, in random order but so that rare labels stay.

    First come rows with a label that has fewer than m rows so far, for the largest m of 10, 5, 3,
    2 and 1 whose rows fit; then any others, until the part is full.

    Parameters
    ----------
    labels : LabelRows
    keep : float
        Part of the rows to keep, above 0 and up to 1; one row at least is kept.
    seed : int

    Returns
    -------
    array of int64
        Positions, ascending.

    Examples
    --------
    >>> labels = LabelRows(np.arange(7), np.asarray([0, 0, 0, 0, 0, 1], np.int32), 2)
    >>> kept = covering_rows(labels, 1 / 3)
    >>> kept.size, bool(5 in kept)
    (2, True)
    """
    wanted = max(1, round(keep * labels.n_rows))
    order = np.random.default_rng(seed).permutation(labels.n_rows)
    first: NDArray[np.int64] = order[:0]
    for fewest in _ROWS_PER_LABEL:
        first = _rows_of_rare_labels(labels, order, fewest, wanted)
        if first.size <= wanted:
            break
    is_first = np.zeros(labels.n_rows, bool)
    is_first[first] = True
    chosen = np.concatenate([first, order[~is_first[order]]])[:wanted]
    return np.sort(chosen)


def _rows_of_rare_labels(
    labels: LabelRows, order: NDArray[np.int64], fewest: int, most: int
) -> NDArray[np.int64]:
    """Rows with a label of which fewer rows are chosen so far; it stops beyond ``most``."""
    counts = np.zeros(labels.n_labels, np.int64)
    starts, indices = labels.indptr.tolist(), labels.indices
    chosen: list[int] = []
    for row in order.tolist():
        its = indices[starts[row] : starts[row + 1]]
        if its.size and counts[its].min() < fewest:
            counts[its] += 1
            chosen.append(row)
            if len(chosen) > most:
                break
    return np.asarray(chosen, np.int64)
