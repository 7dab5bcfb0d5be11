"""Probabilities that mean something: of labels said to be 0.8 likely, 0.8 are right.

A map from score to probability, fitted on scores of rows that had no part in them. It never falls,
so the order of labels stays; it is a table of steps, looked up by comparing, so that every backend
gives the same bits. What comes back from a file is checked at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from swnn_xp.model.files import SavedModel
from swnn_xp.model.model import Extra
from swnn_xp.rows.records import pointers_of_sizes
from swnn_xp.store import StoreError

MAX_ROWS = 10_000
"""Rows that a map is fitted on, at most."""
_FEWEST_PAIRS = 100  # fewer say too little
_LABELS = 10  # best labels of a row that a map is fitted on
_GROUPS = 500  # of scores, which share a step


@dataclass(frozen=True, eq=False)
class Calibration:
    """Steps from score to probability, and the score from which on labels are predicted.

    The arrays may come from a file: `check` looks at every number.
    """

    ends: NDArray[np.float64]
    """(n_steps - 1,): scores at which the next step begins, ascending."""
    values: NDArray[np.float64]
    """(n_steps,): probabilities, never falling."""
    threshold: float
    """Score from which on a label counts as predicted: the best micro-F1 on the rows used."""

    def probabilities(self, scores: Any) -> Any:
        """Probability of each score, in the library and on the device of the scores.

        Examples
        --------
        >>> steps = Calibration(np.asarray([0.0]), np.asarray([0.25, 0.75]), 0.0)
        >>> steps.probabilities(np.asarray([[-1.0, 0.0]])).tolist()
        [[0.25, 0.75]]
        """
        if isinstance(scores, np.ndarray):  # a single answer must not wait for the array API
            return self.values[self.ends.searchsorted(scores, "right")]
        xp, dev = array_namespace(scores), device(scores)
        ends, values = (xp.asarray(part.copy(), device=dev) for part in (self.ends, self.values))
        at = xp.searchsorted(ends, xp.reshape(scores, (-1,)), side="right")
        return xp.reshape(xp.take(values, at), scores.shape)

    def check(self) -> None:
        """Raise ValueError unless the arrays are such a map.

        Examples
        --------
        >>> Calibration(np.asarray([0.0]), np.asarray([0.75, 0.25]), 0.0).check()
        Traceback (most recent call last):
        ValueError: calibrated probabilities must lie in 0..1 and never fall
        """
        ends, values = self.ends, self.values
        fits = ends.dtype == values.dtype == np.float64 and ends.ndim == values.ndim == 1
        if not fits or values.size != ends.size + 1:
            raise ValueError("the calibration must be rows of float64, one value more than ends")
        if not np.isfinite(ends).all() or np.any(ends[1:] <= ends[:-1]):
            raise ValueError("the calibration's ends must be finite and ascend")
        if not np.all((values >= 0) & (values <= 1)) or np.any(values[1:] < values[:-1]):
            raise ValueError("calibrated probabilities must lie in 0..1 and never fall")
        if not np.isfinite(self.threshold):
            raise ValueError("the calibration's threshold must be finite")


def predicted(scores: Any, threshold: float | str, calibration: Calibration | None) -> Any:
    """Which scores are high enough to predict their label.

    A number is the probability to be passed. "f1" is the score that the calibration names, or one
    half where there is none. Without a calibration, scores are probabilities.

    Examples
    --------
    >>> steps = Calibration(np.asarray([0.0]), np.asarray([0.25, 0.75]), -1.0)
    >>> scores = np.asarray([-2.0, -1.0, 0.0])
    >>> [predicted(scores, threshold, steps).tolist() for threshold in ("f1", 0.5)]
    [[False, True, True], [False, False, True]]
    """
    if calibration is None:
        return scores > (0.5 if isinstance(threshold, str) else float(threshold))
    if isinstance(threshold, str):
        return scores >= calibration.threshold
    return calibration.probabilities(scores) > float(threshold)


class HeldOutScores(NamedTuple):
    """Candidates of rows that had no part in their scores; the candidates of a row side by side."""

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    scores: NDArray[np.float64]
    right: NDArray[np.bool_]
    n_positives: int
    """Labels of these rows, those that are no candidates too."""


def chosen_rows(n_rows: int, share: float, seed: int) -> NDArray[np.int64]:
    """Rows to fit a map on, ascending.

    Examples
    --------
    >>> chosen_rows(50, 0.1, seed=0).size
    5
    """
    wanted = min(int(np.ceil(n_rows * share)), MAX_ROWS)
    return np.sort(np.random.default_rng(seed).choice(n_rows, wanted, replace=False))


def fit_calibration(held_out: HeldOutScores) -> Calibration | None:
    """Fit the map on the best labels of each row, the threshold on all; None for too few pairs."""
    order = np.lexsort((held_out.labels, -held_out.scores, held_out.rows))
    best = order[_rank_in_row(held_out.rows[order]) < _LABELS]
    if best.size < _FEWEST_PAIRS:
        return None
    ends, values = isotonic(held_out.scores[best], held_out.right[best])
    threshold = f1_threshold(held_out.scores, held_out.right, held_out.n_positives)
    return Calibration(ends, values, threshold)


def isotonic(
    scores: NDArray[np.float64], right: NDArray[np.bool_], n_groups: int = _GROUPS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps that rise with the score and are closest to what is right, by least squares.

    Pool adjacent violators, on groups of neighbouring scores: a step that rests on a handful of
    pairs would say 0 or 1 where nobody knows.

    Examples
    --------
    >>> ends, values = isotonic(np.asarray([0.0, 1, 2, 3]), np.asarray([0, 1, 0, 1], bool))
    >>> ends.tolist(), values.tolist()
    ([1.0, 3.0], [0.0, 0.5, 1.0])
    """
    order = np.argsort(scores, kind="stable")
    scores, right = scores[order], right[order]
    wanted = np.linspace(0, scores.size, min(n_groups, scores.size) + 1).astype(np.int64)[:-1]
    firsts = np.unique(np.searchsorted(scores, scores[wanted]))  # equal scores stay together
    hits = np.add.reduceat(right.astype(np.int64), firsts).tolist()
    sizes = np.diff(np.append(firsts, scores.size)).tolist()
    blocks: list[tuple[int, int, int]] = []  # first score's place, hits, size
    for block in zip(firsts.tolist(), hits, sizes, strict=True):
        while blocks and blocks[-1][1] * block[2] >= block[1] * blocks[-1][2]:
            first, hit, size = blocks.pop()
            block = first, hit + block[1], size + block[2]
        blocks.append(block)
    begins = np.asarray([first for first, _, _ in blocks[1:]], np.int64)
    return scores[begins], np.asarray([hit / size for _, hit, size in blocks])


def f1_threshold(scores: NDArray[np.float64], right: NDArray[np.bool_], n_positives: int) -> float:
    """Score from which on predicting labels gives the largest micro-F1.

    Examples
    --------
    >>> f1_threshold(np.asarray([3.0, 2, 1, 0]), np.asarray([1, 1, 0, 0], bool), 2)
    2.0
    """
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(right[order])
    quality = 2.0 * hits / (np.arange(1, hits.size + 1) + n_positives)
    last = np.append(np.diff(scores[order]) != 0, True)  # equal scores are predicted together
    return float(scores[order][np.argmax(np.where(last, quality, -1.0))])


def _rank_in_row(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rank of each pair among those of its row, which stand side by side."""
    firsts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1])) if rows.size else rows
    sizes = np.diff(np.append(firsts, rows.size))
    return np.arange(rows.size) - np.repeat(pointers_of_sizes(sizes)[:-1], sizes)


_ENDS, _VALUES, _THRESHOLD = "calibration_ends", "calibration_values", "threshold"


def stored_calibration(calibration: Calibration) -> Extra:
    """Arrays and numbers to store."""
    arrays = {_ENDS: calibration.ends, _VALUES: calibration.values}
    return Extra(arrays, {_THRESHOLD: calibration.threshold})


def calibration_from(saved: SavedModel) -> Calibration | None:
    """What a folder holds; None if it holds none, StoreError if it can't be one."""
    arrays, meta = saved.extra
    if _ENDS not in arrays and _VALUES not in arrays and _THRESHOLD not in meta:
        return None
    try:
        threshold = meta[_THRESHOLD]
        if type(threshold) not in (int, float):
            raise TypeError(f"{_THRESHOLD}: {threshold!r}")
        calibration = Calibration(arrays[_ENDS], arrays[_VALUES], float(threshold))
    except (KeyError, TypeError, OverflowError) as error:
        raise StoreError(saved.path, f"manifest.json: missing or invalid field {error}") from error
    try:
        calibration.check()
    except ValueError as error:
        raise StoreError(saved.path, str(error)) from error
    return calibration


def score_probability(scores: Any, calibration: Calibration | None = None) -> Any:
    """Probability that a label with this score, given by a ranker, is right.

    Without a calibration it follows from the loss: the minimum of the expected squared hinge is at
    ``score = 2 * probability - 1``.

    Examples
    --------
    >>> import numpy as np
    >>> score_probability(np.asarray([-1.5, 0.0, 0.5])).tolist()
    [0.0, 0.5, 0.75]
    """
    if calibration is not None:
        return calibration.probabilities(scores)
    xp = array_namespace(scores)
    half = (scores + 1.0) * 0.5
    half = xp.where(half > 0, half, xp.zeros_like(half))
    return xp.where(half < 1, half, xp.ones_like(half))
