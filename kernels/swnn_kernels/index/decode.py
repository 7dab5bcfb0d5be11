"""Rows out of the arrays of a stored index by NumPy alone, for machines where numba can't run."""

from __future__ import annotations

import numpy as np

from swnn_kernels.index.arrays import KEY_BITS, LO_BITS, StoredArrays
from swnn_kernels.records import Rows, check_indptr


def decode_rows(arrays: dict[str, np.ndarray]) -> Rows:
    """Return the rows that an index was built from.

    Parameters
    ----------
    arrays : dict
        What `HybridIndex.arrays` gave. They need not be trusted: whatever would lead out of bounds
        is refused by a ValueError. Features of a damaged index may repeat in a row, though.

    Returns
    -------
    Rows

    Examples
    --------
    >>> from swnn_kernels import HybridIndex
    >>> rows = Rows(np.array([0, 1, 2]), np.array([4, 1]), np.array([2**23, -7]), 5)
    >>> decode_rows(HybridIndex.build(rows).arrays()).indices.tolist()
    [4, 1]
    """
    stored = StoredArrays.from_dict(arrays)
    _check(stored)
    n_rows, hi = stored.n_rows, stored.forward_hi
    at_row = np.concatenate([stored.list_rows, _spread(stored.forward_indptr)])
    frequent = stored.frequent_features[(hi & (2**KEY_BITS - 1)) >> 1]
    features = np.concatenate([_spread(stored.list_indptr), frequent])
    high = hi.view(np.int32) >> KEY_BITS
    quantised = np.concatenate([stored.list_quantised, (high << LO_BITS) + stored.forward_lo])
    order = np.lexsort((features, at_row))
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(at_row, minlength=n_rows), out=indptr[1:])
    if not np.array_equal(np.diff(indptr), stored.row_sizes[:n_rows]):
        raise ValueError("index: its row sizes do not fit its entries")
    return Rows(
        indptr,
        features[order].astype(np.int32),
        quantised[order].astype(np.int32),
        stored.n_features,
    )


def _spread(indptr: np.ndarray) -> np.ndarray:
    """Number of the run that each entry lies in."""
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr))


def _check(stored: StoredArrays) -> None:
    """Raise ValueError unless every number that is followed stays in bounds."""
    shapes_fit = (
        stored.sizes.shape == (2,)
        and stored.list_indptr.shape == (stored.n_features + 1,)
        and stored.frequent_features.ndim == stored.row_sizes.ndim == 1
        and stored.list_rows.ndim == stored.forward_hi.ndim == 1
        and stored.list_quantised.shape == stored.list_rows.shape
        and stored.forward_lo.shape == stored.forward_hi.shape
    )
    if not shapes_fit:
        raise ValueError("index: the shapes of its arrays do not fit together")
    check_indptr(stored.list_indptr, stored.list_rows.size, "lists")
    check_indptr(stored.forward_indptr, stored.forward_hi.size, "forward rows")
    if stored.list_rows.max(initial=0) >= max(1, stored.n_rows):
        raise ValueError(f"index: a list has a row that is not among the {stored.n_rows} rows")
    frequent = stored.frequent_features
    if frequent.size and not 0 <= frequent.min() <= frequent.max() < stored.n_features:
        raise ValueError(f"index: frequent features must lie within 0..{stored.n_features - 1}")
    ids = (stored.forward_hi & (2**KEY_BITS - 1)) >> 1
    if ids.size and ids.max() >= frequent.size:
        raise ValueError("index: a forward row has a feature that is not frequent")
