"""What callers and kernels share: records, dtypes, scales and checks of arguments. Needs no numba.

Compiled code takes records of arrays: the annotation of a field says which dtype it has there.
`docs/method/exactness.md` says why the scales of the fixed-point arithmetic are these.
"""

from __future__ import annotations

from numbers import Integral
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

Int: TypeAlias = Any
"""An integer in compiled code: numba infers of which size."""
Float: TypeAlias = Any
"""A float32 or float64 in compiled code."""
Bool: TypeAlias = Any
"""A truth value in compiled code."""
Uint8 = Annotated[np.ndarray, np.uint8]
Uint16 = Annotated[np.ndarray, np.uint16]
Uint32 = Annotated[np.ndarray, np.uint32]
Uint64 = Annotated[np.ndarray, np.uint64]
Int8 = Annotated[np.ndarray, np.int8]
Int16 = Annotated[np.ndarray, np.int16]
Int32 = Annotated[np.ndarray, np.int32]
Int64 = Annotated[np.ndarray, np.int64]
Float32 = Annotated[np.ndarray, np.float32]
Float64 = Annotated[np.ndarray, np.float64]


def aligned_zeros(size: int, dtype: type) -> np.ndarray:
    """Zeros that start on a cache line, so that a vector of 64 bytes lies in one."""
    item = np.dtype(dtype).itemsize
    memory: np.ndarray = np.zeros(size + 64 // item, dtype=dtype)
    skip = (-memory.ctypes.data % 64) // item
    return memory[skip : skip + size]


def frozen(array: np.ndarray) -> np.ndarray:
    """Make a read-only plain view: one type for numba, whether built here or mapped from a file."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


FRACTION_BITS = 23
"""A unit value is stored as the integer nearest to itself times 2**23."""
MAGNITUDE_SCALE = 2.0**22
"""The first rounding: a row's largest magnitude becomes this integer."""
COS_SCALE = 2.0 ** (-2 * FRACTION_BITS)
"""The integer dot product of two unit rows times this is their cosine."""
VOTE_SCALE = 2.0**40
"""A vote's weight is the integer nearest to Sim**alpha times 2**40."""
MAX_VOTERS = 2**22
"""Neighbours whose votes are sure to fit into an int64: twice as many could overflow it."""


class QuantisedRows(NamedTuple):
    """Canonical rows of unit length in fixed point: features ascend in a row and do not repeat.

    A quantised value of 0 still belongs to its row's support. Kernels take the arrays that
    `prepared` makes; other backends have them in other libraries, or on a device.

    Examples
    --------
    >>> import numpy as np
    >>> rows = QuantisedRows(np.array([0, 1, 2]), np.array([0, 1]), np.array([2**23] * 2), 2)
    >>> rows.n_rows
    2
    """

    indptr: Int64  # (n_rows + 1,)
    indices: Int32  # (nnz,): features
    quantised: Int32  # (nnz,): unit values times 2**23
    n_features: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.shape[0]) - 1

    def prepared(self) -> QuantisedRows:
        """The same rows in arrays as kernels take them: contiguous, of fixed dtypes, read-only."""
        return QuantisedRows(
            frozen(np.ascontiguousarray(self.indptr, dtype=np.int64)),
            frozen(np.ascontiguousarray(self.indices, dtype=np.int32)),
            frozen(np.ascontiguousarray(self.quantised, dtype=np.int32)),
            int(self.n_features),
        )


class Settings(NamedTuple):
    """The method's parameters S, alpha and beta: they decide the answer."""

    n_neighbors: int
    alpha: float  # exponent of a similarity in its vote's weight
    beta: float  # exponent of Jaccard's coefficient in the similarity


class Cap(NamedTuple):
    """How far the capped search goes: see `swnn_kernels.neighbours.capped`."""

    postings: int  # most that are added up, but for a query's rarest feature
    n_rescored: int  # rows whose similarity is computed
    counts: Int64  # (n_features,): rows of each feature, over all indexes that are searched


def rows_to_rescore(postings: int, n_neighbors: int) -> int:
    """Number of rows whose similarity the capped search computes.

    Examples
    --------
    >>> rows_to_rescore(5000, 75), rows_to_rescore(1000, 75)
    (200, 150)
    """
    return max(postings // _POSTINGS_OF_RESCORED, _RESCORED * n_neighbors)


_POSTINGS_OF_RESCORED = 25
_RESCORED = 2


class ParsedRows(NamedTuple):
    """Consecutive rows out of a text, or room for them; a reader may overwrite the arrays."""

    label_counts: Int64
    labels: Int32
    feature_counts: Int64
    features: Int32
    values: Float64


_NONE_REMOVED = frozen(np.zeros(0, np.uint8))
_NO_WEIGHTS = frozen(np.zeros(0))


def check_indptr(indptr: np.ndarray, nnz: int, what: str) -> None:
    """Pointers must start at 0, never fall and end at the number of entries."""
    if indptr.ndim != 1 or indptr.size < 1:
        raise ValueError(f"{what}: pointers must be one-dimensional and not empty")
    if indptr[0] != 0 or indptr[-1] != nnz or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError(f"{what}: pointers must rise from 0 to the {nnz} entries")


def _whole(value: Any, name: str) -> int:
    if type(value) is int and value >= 1:  # sessions ask for every answer: the usual case is quick
        return value
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def check_settings(settings: Settings) -> Settings:
    """Settings as Python numbers; ValueError for values that the method does not allow."""
    n_neighbors, alpha, beta = settings
    n_neighbors = _whole(n_neighbors, "n_neighbors")
    if not (0 <= alpha < np.inf and 0 <= beta < np.inf):
        raise ValueError(f"alpha and beta must be finite and >= 0, got {alpha} and {beta}")
    return Settings(n_neighbors, float(alpha), float(beta))


def check_voters(n_neighbors: int) -> int:
    """Number of neighbours that vote, bounded so that the sum of their votes cannot overflow."""
    if n_neighbors > MAX_VOTERS:
        raise ValueError(f"{n_neighbors} neighbours would vote: n_neighbors can be {MAX_VOTERS}")
    return n_neighbors


def check_k(k: int) -> int:
    """Number of labels to return."""
    return _whole(k, "k")


def check_n_jobs(n_jobs: int) -> int:
    """Number of threads: callers resolve "all cores" themselves."""
    return _whole(n_jobs, "n_jobs")


def check_cap(cap: Cap, n_features: int) -> Cap:
    """The cap as kernels take it; ValueError if it is none."""
    counts = np.ascontiguousarray(cap.counts, dtype=np.int64)
    if counts.shape != (n_features,):
        raise ValueError(f"a cap needs one count for each of the {n_features} features")
    return Cap(
        _whole(cap.postings, "postings"), _whole(cap.n_rescored, "n_rescored"), frozen(counts)
    )


def check_removed(removed: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Flags of removed rows as bytes, without a copy if possible; empty if no row is removed."""
    if removed is None or not np.any(removed):
        return _NONE_REMOVED
    removed = np.ascontiguousarray(removed, dtype=np.bool_)
    if removed.shape != (n_rows,):
        raise ValueError(f"removed must hold one flag for each of the {n_rows} rows")
    return frozen(removed.view(np.uint8))


def check_neighbours(
    ids: np.ndarray, sims: np.ndarray, n_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of several queries as kernels take them; none may lie beyond the rows."""
    ids = frozen(np.ascontiguousarray(ids, dtype=np.int64))
    sims = frozen(np.ascontiguousarray(sims, dtype=np.float64))
    if ids.ndim != 2 or ids.shape != sims.shape:
        raise ValueError("ids and sims must be two-dimensional and of one shape")
    if ids.size and not -1 <= ids.min() <= ids.max() < n_rows:
        raise ValueError(f"neighbours must lie in -1..{n_rows - 1}")
    return ids, sims


def check_feature_weights(weights: np.ndarray | None, n_features: int) -> np.ndarray:
    """Weights of the features, or an empty array if there are none."""
    if weights is None:
        return _NO_WEIGHTS
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape != (n_features,):
        raise ValueError(f"feature_weights must hold one weight for each of {n_features} features")
    return frozen(weights)
