"""What has changed since labels were trained: told from counts, so that nothing is logged.

What training finds and a model stores.

What was learned as arrays and JSON, and back; what comes back is not trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.candidates import N_BINS, Selection
from swnn_kernels.learn.scorer import Ranker, Scorer
from swnn_kernels.parallel import once_property
from swnn_kernels.records import frozen
from swnn_xp.learn.calibration import Calibration, calibration_from, stored_calibration
from swnn_xp.learn.neighbours import KnownNeighbours
from swnn_xp.learn.settings import Rule
from swnn_xp.model.files import Extra, SavedModel
from swnn_xp.model.model import Model
from swnn_xp.rows.canonical import check_pointers, check_range, is_ascending
from swnn_xp.store import StoreError


class Trained(NamedTuple):
    """What the rows were when labels were last trained; the arrays may come from a file."""

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
    """Rows that came after everything was trained, and are there."""
    rows_removed: int
    """Rows that everything was trained on and that are gone."""
    labels: NDArray[np.int64]
    """Labels whose rows have changed since they were trained, ascending."""
    labels_added: NDArray[np.int64]
    """Rows that each of these labels has gained."""
    labels_removed: NDArray[np.int64]
    """Rows that each of these labels has lost."""


def trained_now(model: Model) -> Trained:
    """Everything is trained on the rows of the model."""
    counts = model.label_counts
    return Trained(model.n_rows, model.next_id, counts, np.full(counts.size, model.next_id))


def retrained(trained: Trained, model: Model, wanted: NDArray[np.bool_]) -> Trained:
    """The wanted labels are trained on the rows of the model."""
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
    """Labels that came later were trained on nothing."""
    return np.pad(counts[:n_labels], (0, max(0, n_labels - counts.size)))


_DTYPES = {
    "indptr": np.int64,
    "features": np.int32,
    "weights": np.int16,
    "biases": np.int64,
    "modelled": np.uint8,
    "tables": np.int64,
}
_LARGEST_SHIFT = 15


@dataclass(frozen=True, eq=False)
class Learned:
    """The ranker, and how it was trained.

    Its arrays may come from a file: `checked_ranker` looks at every number that is followed
    before the first ranking.
    """

    ranker: Ranker
    selection: Selection
    """How neighbours become candidates; the last cut is the number of neighbours."""
    beta: float
    n_features: int
    recall: float
    """Share of the training rows' labels among the first 50 candidates, of those that could be."""
    rule: Rule
    """C, weight of the vote and of missed positives, as used."""
    calibration: Calibration | None = None
    """Map from score to probability; None where there were too few rows, or it was not wanted."""
    trained: Trained | None = None
    """What the rows were at training; None in models of older versions."""
    known: KnownNeighbours | None = None
    """Neighbours of all rows when any label was last trained, for relearning."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """The estimator's parameters at training."""

    def __getstate__(self) -> dict[str, Any]:
        # Without what is cached: copies on a device can't be pickled, and are soon made again.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @once_property
    def checked_ranker(self) -> Ranker:
        """The ranker, read-only; raises ValueError if its arrays can't be one."""
        check_ranker(self.ranker, self.n_features, len(self.selection.cuts))
        return map_ranker(lambda array: frozen(np.ascontiguousarray(array)), self.ranker)

    @once_property
    def scorer(self) -> Scorer:
        """The ranker as the kernels take it."""
        return Scorer.prepare(self.checked_ranker, self.n_features)

    def check(self) -> None:
        """Raise ValueError if the ranker's arrays can't be one, or those of the calibration."""
        _ = self.checked_ranker
        if self.calibration is not None:
            self.calibration.check()
        if self.trained is not None:
            self.trained.check()
        if self.known is not None:
            self.known.check()

    def placed_ranker(self, placement: Any) -> Ranker:
        """The ranker where a model is; copied there once."""
        held = self.__dict__.get("_placed")
        if held is None or held[0] is not placement:
            ranker = map_ranker(placement.to_device, self.checked_ranker)
            held = self.__dict__["_placed"] = placement, ranker
        placed: Ranker = held[1]
        return placed


def map_ranker(move: Callable[[Any], Any], ranker: Ranker) -> Ranker:
    """Apply a function to each array of a ranker."""
    return ranker._replace(**{name: move(getattr(ranker, name)) for name in _DTYPES})


def check_ranker(ranker: Ranker, n_features: int, n_cuts: int) -> None:
    """Raise ValueError unless the arrays of a ranker fit together and lead nowhere outside.

    Examples
    --------
    >>> one = np.zeros(1, np.int64)
    >>> ranker = Ranker(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int16), one,
    ...                 np.zeros(1, np.uint8), np.zeros(2 * 3 * N_BINS, np.int64), 0)
    >>> check_ranker(ranker, 5, 3)
    >>> check_ranker(ranker, 5, 2)
    Traceback (most recent call last):
    ValueError: the ranker's arrays do not fit together
    """
    for name, dtype in _DTYPES.items():
        array = getattr(ranker, name)
        if array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"the ranker's {name} must be a row of {dtype.__name__}")
    check_pointers("the ranker's indptr", ranker.indptr, ranker.features, "its features")
    n_labels = ranker.indptr.size - 1
    fits = (
        ranker.weights.shape == ranker.features.shape
        and ranker.biases.shape == ranker.modelled.shape == (n_labels,)
        and ranker.tables.shape == (2 * n_cuts * N_BINS,)
        and 0 <= ranker.shift <= _LARGEST_SHIFT
    )
    if not fits:
        raise ValueError("the ranker's arrays do not fit together")
    check_range("the ranker's features", ranker.features, 0, n_features - 1)
    if not is_ascending(ranker.indptr, ranker.features):
        raise ValueError("the ranker's features must ascend in each label")


_ARRAYS = Ranker._fields[:-1]
_NEIGHBOURS = "neighbour_rows", "neighbours"
_LARGEST, _LARGEST_ID = 2**31, 2**62


def stored_learned(learned: Learned) -> Extra:
    """Arrays and numbers to store."""
    arrays = {name: getattr(learned.ranker, name) for name in _ARRAYS}
    meta = {
        "shift": learned.ranker.shift,
        "cuts": list(learned.selection.cuts),
        "n_candidates": learned.selection.n_candidates,
        "alpha": learned.selection.alpha,
        "beta": learned.beta,
        "recall": learned.recall,
        "rule": learned.rule._asdict(),
    }
    if learned.trained is not None:
        n_rows, next_id, arrays["label_rows"], arrays["label_next_ids"] = learned.trained
        meta |= {"n_rows": n_rows, "next_id": next_id}
    if learned.known is not None:
        arrays |= dict(zip(_NEIGHBOURS, learned.known, strict=True))
    if learned.calibration is not None:
        more = stored_calibration(learned.calibration)
        return Extra(arrays | dict(more.arrays), meta | dict(more.meta))
    return Extra(arrays, meta)


def learned_from(saved: SavedModel, n_features: int) -> Learned:
    """What a folder holds; StoreError if it can't be that. Arrays are checked before first use."""
    arrays, meta = saved.extra
    try:
        own = {name: arrays[name] for name in _ARRAYS}
        ranker = Ranker(**own, shift=_count(meta["shift"]))
        cuts = tuple(_count(cut) for cut in meta["cuts"])
        if not cuts or any(a >= b for a, b in zip((0, *cuts), cuts, strict=False)):
            raise ValueError(f"cuts {cuts} must ascend from 1")
        n_candidates = _count(meta["n_candidates"])
        if not 1 <= n_candidates <= max(1, saved.counts["n_labels"]):  # they decide on memory
            raise ValueError(f"n_candidates: {n_candidates}")
        selection = Selection(cuts, n_candidates, _number(meta["alpha"]))
        rule = Rule(**{name: _number(value) for name, value in meta["rule"].items()})
        beta, recall = _number(meta["beta"]), _number(meta["recall"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise StoreError(saved.path, f"manifest.json lacks or garbles {error}") from error
    if ranker.modelled.size > saved.counts["n_labels"]:
        raise StoreError(saved.path, "the ranker has more labels than the model")
    params = {"rare_labels": 0.0}  # older models do not name it
    params |= {name: value for name, value in saved.params.items() if name != "threshold"}
    more = calibration_from(saved), _trained_from(saved), _known_from(saved)
    return Learned(ranker, selection, beta, n_features, recall, rule, *more, params)


def _trained_from(saved: SavedModel) -> Trained | None:
    """What the rows were at training; None in models of older versions."""
    arrays, meta = saved.extra
    if "label_rows" not in arrays:
        return None
    try:
        counts = _count(meta["n_rows"]), _count(meta["next_id"], _LARGEST_ID)
        trained = Trained(*counts, arrays["label_rows"], arrays["label_next_ids"])
        trained.check()
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(saved.path, f"manifest.json lacks or garbles {error}") from error
    return trained


def _known_from(saved: SavedModel) -> KnownNeighbours | None:
    """Neighbours of the rows, not looked at: that would read all of them."""
    arrays = saved.extra.arrays
    if not set(_NEIGHBOURS) <= arrays.keys():
        return None
    return KnownNeighbours(*(arrays[name] for name in _NEIGHBOURS))


def _count(value: Any, limit: int = _LARGEST) -> int:
    if type(value) is not int or not 0 <= value < limit:
        raise ValueError(f"{value!r} is not a count")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < float("inf"):
        raise ValueError(f"{value!r} is not a number of at least 0")
    return float(value)
