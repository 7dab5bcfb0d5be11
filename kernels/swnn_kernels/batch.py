"""Many queries at once, on one core or on several."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from swnn_kernels import query
from swnn_kernels.index import InvertedIndex
from swnn_kernels.methods import is_pruned
from swnn_kernels.records import Labels, frozen
from swnn_kernels.references import table
from swnn_kernels.validate import check_rows
from swnn_kernels.workspace import (
    NO_LABELS,
    check_budget,
    check_dead,
    check_labels,
    check_parameters,
    make_scratch,
    make_work,
)


def search(
    index: InvertedIndex,
    q_indptr: np.ndarray,
    q_indices: np.ndarray,
    q_units: np.ndarray,
    n_neighbors: int,
    beta: float,
    *,
    dead: np.ndarray | None = None,
    n_jobs: int = 1,
    method: str = "auto",
    budget: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the most similar rows of each query.

    Parameters
    ----------
    index : InvertedIndex
        The training rows.
    q_indptr, q_indices, q_units : arrays of int64, int32, int32
        Canonical queries in fixed-point units, as for `InvertedIndex.build`.
    n_neighbors : int
        How many rows to return for a query.
    beta : float
        Exponent of Jaccard's coefficient.
    dead : array of bool, (n_rows,), optional
        Rows that must never be returned.
    n_jobs : int
        Threads; -1 for all cores.
    method : {"auto", "reference", "pruned"}
        All return the same.
    budget : int, optional
        Complete at most so many rows, those that promise most by a query's lists and heaviest
        features: faster, but not exact. `search_within` also tells how far off the answer may be.

    Returns
    -------
    ids, sims : arrays of int64 and float64, (n_queries, n_neighbors)
        Best first: larger similarity, then smaller id. Missing places hold -1 and 0.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([0, 1, 2]), np.array([0, 1], np.int32), np.array([2**23] * 2, np.int32)
    >>> ids, sims = search(InvertedIndex.build(*rows, 2), *rows, 2, 1.0)
    >>> ids.tolist()
    [[0, -1], [1, -1]]
    """
    check_parameters(n_neighbors, 0.0, beta, 1)
    queries = _check_queries(index, q_indptr, q_indices, q_units)
    ids, sims, _ = _run(
        index, NO_LABELS, queries, n_neighbors, 0.0, beta, 0, check_dead(index, dead), n_jobs,
        method, budget,
    )  # fmt: skip
    return ids, sims


def search_within(
    index: InvertedIndex,
    q_indptr: np.ndarray,
    q_indices: np.ndarray,
    q_units: np.ndarray,
    n_neighbors: int,
    beta: float,
    *,
    budget: int,
    dead: np.ndarray | None = None,
    n_jobs: int = 1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find similar rows of each query within a budget, and how many rows it left open.

    Parameters
    ----------
    index, q_indptr, q_indices, q_units, n_neighbors, beta, dead, n_jobs
        As for `search`.
    budget : int
        Complete at most so many rows for a query.

    Returns
    -------
    ids, sims : arrays of int64 and float64, (n_queries, n_neighbors)
        As for `search`; the similarities are exact, but better rows may be missing.
    might : array of int64, (n_queries,)
        Number of rows that could still beat the last neighbour: 0 means the answer is exact.
    """
    check_parameters(n_neighbors, 0.0, beta, 1)
    queries = _check_queries(index, q_indptr, q_indices, q_units)
    return _run(
        index, NO_LABELS, queries, n_neighbors, 0.0, beta, 0, check_dead(index, dead), n_jobs,
        "pruned", budget,
    )  # fmt: skip


def rank(
    index: InvertedIndex,
    label_indptr: np.ndarray,
    label_indices: np.ndarray,
    q_indptr: np.ndarray,
    q_indices: np.ndarray,
    q_units: np.ndarray,
    n_neighbors: int,
    alpha: float,
    beta: float,
    k: int,
    *,
    dead: np.ndarray | None = None,
    n_jobs: int = 1,
    method: str = "auto",
    budget: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Rank labels by the votes of each query's neighbours, weighted by Sim**alpha.

    Parameters
    ----------
    index : InvertedIndex
        The training rows.
    label_indptr, label_indices : arrays of int64 and int32
        Labels of each training row.
    q_indptr, q_indices, q_units : arrays of int64, int32, int32
        Canonical queries.
    n_neighbors, alpha, beta : int, float, float
        The method's S, alpha and beta.
    k : int
        How many labels to return for a query.
    dead, n_jobs, method, budget
        As for `search`.

    Returns
    -------
    labels, scores : arrays of int64 and float64, (n_queries, k)
        Best first: larger score, then smaller label. Missing places hold -1 and 0.
    """
    check_parameters(n_neighbors, alpha, beta, k)
    queries = _check_queries(index, q_indptr, q_indices, q_units)
    labels = check_labels(index, label_indptr, label_indices)
    best, scores, _ = _run(
        index, labels, queries, n_neighbors, alpha, beta, k, check_dead(index, dead), n_jobs,
        method, budget,
    )  # fmt: skip
    return best, scores


def _check_queries(
    index: InvertedIndex, indptr: np.ndarray, indices: np.ndarray, units: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    indptr = np.ascontiguousarray(indptr, dtype=np.int64)
    indices = np.ascontiguousarray(indices, dtype=np.int32)
    units = np.ascontiguousarray(units, dtype=np.int32)
    check_rows(indptr, indices, units, index.n_features, "queries")
    index.admit(indices)
    return frozen(indptr), frozen(indices), frozen(units)


def _run(
    index: InvertedIndex,
    labels: Labels,
    queries: tuple[np.ndarray, np.ndarray, np.ndarray],
    n_neighbors: int,
    alpha: float,
    beta: float,
    k: int,
    dead: np.ndarray,
    n_jobs: int,
    method: str,
    budget: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Answer all queries; labels if k > 0, else neighbours."""
    n_queries = queries[0].size - 1
    ids = np.empty((n_queries, k or n_neighbors), dtype=np.int64)
    values = np.empty(ids.shape)
    might = np.zeros(n_queries, dtype=np.int64)
    longest = int(np.diff(queries[0]).max(initial=0))
    pruned = is_pruned(index, method, n_neighbors, longest)
    limit = check_budget(budget)
    parameters = float(alpha), float(beta), k > 0

    def answer(first: int, last: int) -> None:
        work = make_work(index, n_neighbors, labels, k, longest)
        if pruned:
            scratch = make_scratch(index, longest, limit)
            query.answer_by_pruned(
                table(index.split), table(labels), dead, table(work), table(scratch), *queries,
                first, last, *parameters, limit, might, ids, values,
            )  # fmt: skip
        else:
            query.answer_by_reference(
                table(index.inverted), index.row_sizes, index.n_rows, table(labels), dead,
                table(work), *queries, first, last, *parameters, ids, values,
            )  # fmt: skip

    in_parallel(answer, n_queries, n_jobs)
    return ids, values, might


def in_parallel(answer: Callable[[int, int], None], n_queries: int, n_jobs: int) -> None:
    """Call ``answer(first, last)`` on equal parts of the queries, one thread each."""
    if n_jobs == 0 or n_jobs < -1:
        raise ValueError(f"n_jobs must be -1 or at least 1, got {n_jobs}")
    jobs = min(os.cpu_count() or 1 if n_jobs == -1 else n_jobs, max(1, n_queries))
    cuts = [n_queries * j // jobs for j in range(jobs + 1)]
    if jobs == 1:
        answer(0, n_queries)
        return
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(answer, cuts[:-1], cuts[1:]))
