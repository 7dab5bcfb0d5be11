"""What training finds and a model stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from swnn_kernels.dtypes import frozen
from swnn_kernels.learn.bins import N_BINS
from swnn_kernels.learn.candidates import Selection
from swnn_kernels.learn.scorer import Ranker, Scorer
from swnn_kernels.parallel import once_property
from swnn_xp.learn.calibration import Calibration
from swnn_xp.learn.known_neighbours import KnownNeighbours
from swnn_xp.learn.settings import Rule
from swnn_xp.learn.staleness import Trained
from swnn_xp.rows.canonical import is_ascending
from swnn_xp.rows.untrusted import check_pointers, check_range

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
