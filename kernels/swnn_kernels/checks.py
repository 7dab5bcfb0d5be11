"""Checks of arguments, each in one place."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from swnn_kernels.dtypes import frozen
from swnn_kernels.records import Settings
from swnn_kernels.scales import MOST_VOTERS

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
    """Settings as plain numbers; ValueError for what the method does not have."""
    n_neighbors, alpha, beta = settings
    n_neighbors = _whole(n_neighbors, "n_neighbors")
    if not (0 <= alpha < np.inf and 0 <= beta < np.inf):
        raise ValueError(f"alpha and beta must be finite and >= 0, got {alpha} and {beta}")
    return Settings(n_neighbors, float(alpha), float(beta))


def check_voters(n_neighbors: int) -> int:
    """Number of neighbours that vote: not so many that the sum of their votes could overflow."""
    if n_neighbors > MOST_VOTERS:
        raise ValueError(f"{n_neighbors} neighbours would vote: n_neighbors can be {MOST_VOTERS}")
    return n_neighbors


def check_k(k: int) -> int:
    """Number of labels to return."""
    return _whole(k, "k")


def check_n_jobs(n_jobs: int) -> int:
    """Number of threads: callers resolve "all cores" themselves."""
    return _whole(n_jobs, "n_jobs")


def check_budget(budget: int | None) -> int:
    """Budget as kernels take it: -1 for none."""
    return -1 if budget is None else _whole(budget, "budget")


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
