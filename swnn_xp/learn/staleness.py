"""What has changed since labels were trained: found by counting, so that no log is kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_xp.model.model import Model


class Trained(NamedTuple):
    """Counts of rows when labels were last trained; the arrays may come from a file."""

    n_rows: int
    """Rows at the last training of everything."""
    next_id: int
    """Rows from this id on came later."""
    label_rows: NDArray[np.int64]
    """(n_labels,): rows of each label when it was trained."""
    label_next_ids: NDArray[np.int64]
    """(n_labels,): rows from this id on came after it was trained."""

    def check(self) -> None:
        """Raise ValueError if the arrays can't be counts of rows."""
        for name, array in zip(self._fields[2:], self[2:], strict=True):
            if array.dtype != np.int64 or array.shape != self.label_rows.shape or array.ndim != 1:
                raise ValueError(f"{name} must be one int64 for each label")
            if array.size and not 0 <= array.min() <= array.max() < 2**62:
                raise ValueError(f"{name} must be counts of rows")


class Staleness(NamedTuple):
    """What label models, trained before, do not know yet.

    Examples
    --------
    >>> from swnn_xp import SWNNRanker
    >>> X, y = [[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]] * 5, [[1, 0], [0, 1]] * 10
    >>> clf = SWNNRanker(n_neighbors=3).fit(X, y).partial_fit([[1, 1, 1]], [[0, 0, 1]])
    >>> clf.staleness_.rows_added, clf.staleness_.labels.tolist()
    (1, [2])
    """

    rows_added: int
    """Rows added since everything was trained, and not removed again."""
    rows_removed: int
    """Rows that everything was trained on and that were removed."""
    labels: NDArray[np.int64]
    """Labels whose rows have changed since they were trained, ascending."""
    labels_added: NDArray[np.int64]
    """Rows that each of these labels has gained."""
    labels_removed: NDArray[np.int64]
    """Rows that each of these labels has lost."""


def trained_now(model: Model) -> Trained:
    """Record that everything is trained on the current rows of the model."""
    counts = model.label_counts
    return Trained(model.n_rows, model.next_id, counts, np.full(counts.size, model.next_id))


def retrained(trained: Trained, model: Model, wanted: NDArray[np.bool_]) -> Trained:
    """Record that the wanted labels are trained on the current rows of the model."""
    rows, next_ids = (_widened(part, wanted.size) for part in trained[2:])
    rows = np.where(wanted, model.label_counts, rows)
    return trained._replace(
        label_rows=rows, label_next_ids=np.where(wanted, model.next_id, next_ids)
    )


def staleness(model: Model, trained: Trained) -> Staleness:
    """Compare the rows of the model with those that labels were trained on."""
    labels = model.checked_labels
    ids = np.arange(model.n_positions) if model.row_ids is None else model.row_ids
    there = np.ones(ids.size, bool) if model.removed is None else ~model.removed
    rows_added = int(np.count_nonzero(there & (ids >= trained.next_id)))
    known, next_ids = (_widened(part, labels.n_labels) for part in trained[2:])
    sizes = np.diff(labels.indptr)
    is_new = np.repeat(there, sizes) & (np.repeat(ids, sizes) >= next_ids[labels.indices])
    added = np.bincount(labels.indices[is_new], minlength=labels.n_labels)
    removed = known + added - model.label_counts
    stale = np.flatnonzero((added != 0) | (removed != 0))
    rows_removed = trained.n_rows + rows_added - model.n_rows
    return Staleness(rows_added, rows_removed, stale, added[stale], removed[stale])


def _widened(counts: NDArray[np.int64], n_labels: int) -> NDArray[np.int64]:
    """Counts of all labels: 0 for labels that were added later."""
    return np.pad(counts[:n_labels], (0, max(0, n_labels - counts.size)))
