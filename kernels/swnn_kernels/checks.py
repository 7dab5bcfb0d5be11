"""Checks of arguments, each in one place."""

from __future__ import annotations

import numpy as np

from swnn_kernels.dtypes import frozen
from swnn_kernels.records import Settings

_NONE_REMOVED = frozen(np.zeros(0, np.uint8))
_NO_WEIGHTS = frozen(np.zeros(0))


def check_indptr(indptr: np.ndarray, nnz: int, what: str) -> None:
    """Pointers must start at 0, never fall and end at the number of entries."""
    if indptr.ndim != 1 or indptr.size < 1:
        raise ValueError(f"{what}: pointers must be one-dimensional and not empty")
    if indptr[0] != 0 or indptr[-1] != nnz or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError(f"{what}: pointers must rise from 0 to the {nnz} entries")


def check_settings(settings: Settings) -> Settings:
    """Settings as plain numbers; ValueError for what the method does not have."""
    n_neighbors, alpha, beta = settings
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be at least 1, got {n_neighbors}")
    if not (0 <= alpha < np.inf and 0 <= beta < np.inf):
        raise ValueError(f"alpha and beta must be finite and >= 0, got {alpha} and {beta}")
    return Settings(int(n_neighbors), float(alpha), float(beta))


def check_k(k: int) -> int:
    """Number of labels to return."""
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    return int(k)


def check_n_jobs(n_jobs: int) -> int:
    """Number of threads: callers resolve "all cores" themselves."""
    if n_jobs < 1:
        raise ValueError(f"n_jobs must be at least 1, got {n_jobs}")
    return int(n_jobs)


def check_budget(budget: int | None) -> int:
    """Budget as kernels take it: -1 for none."""
    if budget is None:
        return -1
    if budget < 1:
        raise ValueError(f"budget must be at least 1, got {budget}")
    return int(budget)


def check_removed(removed: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Flags of removed rows as bytes, without a copy if possible; empty if no row is removed."""
    if removed is None or not np.any(removed):
        return _NONE_REMOVED
    removed = np.ascontiguousarray(removed, dtype=np.bool_)
    if removed.shape != (n_rows,):
        raise ValueError(f"removed must hold one flag for each of the {n_rows} rows")
    return frozen(removed.view(np.uint8))


def check_feature_weights(weights: np.ndarray | None, n_features: int) -> np.ndarray:
    """Weights of the features, or an empty array if there are none."""
    if weights is None:
        return _NO_WEIGHTS
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape != (n_features,):
        raise ValueError(f"feature_weights must hold one weight for each of {n_features} features")
    return frozen(weights)
