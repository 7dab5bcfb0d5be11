"""Many queries at once, on one core or on several."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from swnn_kernels._numba import table
from swnn_kernels.answer.searcher import Searcher, is_pruned
from swnn_kernels.index.hybrid import HybridIndex
from swnn_kernels.index.validation import check_rows
from swnn_kernels.neighbours.records import Task
from swnn_kernels.parallel import in_parallel
from swnn_kernels.records import (
    Cap,
    QuantisedRows,
    Settings,
    check_cap,
    check_k,
    check_n_jobs,
    check_removed,
    check_settings,
    frozen,
)
from swnn_kernels.vote import Labels

_NO_COUNTS = frozen(np.zeros(0, np.int64))
_NO_LABELS = Labels.prepare(np.zeros(1, np.int64), np.zeros(0, np.int32))


@dataclass(frozen=True)
class _Job:
    """All that the threads of a batch share. k = 0: return neighbours instead of labels."""

    index: HybridIndex
    labels: Labels
    queries: QuantisedRows
    settings: Settings
    k: int
    removed: np.ndarray
    method: str
    cap: Cap | None = None
    wants_scores: bool = False


def search(
    index: HybridIndex,
    queries: QuantisedRows,
    n_neighbors: int,
    beta: float,
    *,
    removed: np.ndarray | None = None,
    n_jobs: int = 1,
    method: str = "auto",
) -> tuple[np.ndarray, np.ndarray]:
    """Find the most similar rows of each query.

    Parameters
    ----------
    index : HybridIndex
        The training rows.
    queries : QuantisedRows
        Canonical quantised queries.
    n_neighbors : int
        How many rows to return for a query.
    beta : float
        Exponent of Jaccard's coefficient.
    removed : array of bool, (n_rows,), optional
        Rows that must not be returned.
    n_jobs : int
        Number of threads.
    method : {"auto", "exhaustive", "pruned"}
        All return the same.

    Returns
    -------
    ids, sims : arrays of int64 and float64, (n_queries, n_neighbors)
        Best first: larger similarity, then smaller id. Missing rows are -1 and 0.

    Examples
    --------
    >>> import numpy as np
    >>> rows = QuantisedRows(np.array([0, 1, 2]), np.array([0, 1]), np.array([2**23] * 2), 2)
    >>> ids, sims = search(HybridIndex.build(rows), rows, 2, 1.0)
    >>> ids.tolist()
    [[0, -1], [1, -1]]
    """
    settings = check_settings(Settings(n_neighbors, 0.0, beta))
    checked = _checked(index, queries)
    flags = check_removed(removed, index.n_rows)
    ids, sims = _run(_Job(index, _NO_LABELS, checked, settings, 0, flags, method), n_jobs)
    return ids, sims


def rank(
    index: HybridIndex,
    labels: Labels,
    queries: QuantisedRows,
    settings: Settings,
    k: int,
    *,
    removed: np.ndarray | None = None,
    n_jobs: int = 1,
    method: str = "auto",
) -> tuple[np.ndarray, np.ndarray]:
    """Rank labels by the votes of each query's neighbours, weighted by Sim**alpha.

    Parameters
    ----------
    index : HybridIndex
        The training rows.
    labels : Labels
        Their labels, prepared once for all calls.
    queries : QuantisedRows
        Canonical quantised queries.
    settings : Settings
        The method's S, alpha and beta.
    k : int
        How many labels to return for a query.
    removed, n_jobs, method
        As for `search`.

    Returns
    -------
    labels, scores : arrays of int64 and float64, (n_queries, k)
        Best first: larger score, then smaller label. Missing labels are -1 and 0.
    """
    settings, k = check_settings(settings), check_k(k)
    check_fit(index, labels)
    checked = _checked(index, queries)
    flags = check_removed(removed, index.n_rows)
    best, scores = _run(_Job(index, labels, checked, settings, k, flags, method), n_jobs)
    return best, scores


def search_capped(
    index: HybridIndex,
    queries: QuantisedRows,
    n_neighbors: int,
    beta: float,
    cap: Cap,
    *,
    removed: np.ndarray | None = None,
    n_jobs: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """Find similar rows of each query by the capped search: arguments and result as for `search`.

    Examples
    --------
    >>> import numpy as np
    >>> rows = QuantisedRows(np.array([0, 1, 2]), np.array([0, 1]), np.array([2**23] * 2), 2)
    >>> cap = Cap(postings=10, n_rescored=2, counts=np.array([1, 1]))
    >>> search_capped(HybridIndex.build(rows), rows, 1, 1.0, cap)[0].tolist()
    [[0], [1]]
    """
    ids, sims = _run(_capped_job(index, queries, n_neighbors, beta, cap, removed), n_jobs)
    return ids, sims


def shortlist(
    index: HybridIndex,
    queries: QuantisedRows,
    beta: float,
    cap: Cap,
    *,
    removed: np.ndarray | None = None,
    n_jobs: int = 1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the rows that the capped search rescores, in no order.

    Returns
    -------
    ids, sims, scores : arrays of int64 and float64, (n_queries, at most cap.n_rescored)
        Rows, their similarities, and by what they were chosen. Missing rows are -1 and 0.
    """
    job = replace(_capped_job(index, queries, 1, beta, cap, removed), wants_scores=True)
    ids, sims, scores = _run(job, n_jobs)
    return ids, sims, scores


def _capped_job(
    index: HybridIndex,
    queries: QuantisedRows,
    n_neighbors: int,
    beta: float,
    cap: Cap,
    removed: np.ndarray | None,
) -> _Job:
    settings = check_settings(Settings(n_neighbors, 0.0, beta))
    queries = queries._replace(n_features=index.n_features).prepared()
    check_rows(queries, "queries")
    flags, cap = check_removed(removed, index.n_rows), check_cap(cap, index.n_features)
    return _Job(index, _NO_LABELS, queries, settings, 0, flags, "auto", cap)


def task_of(settings: Settings, wants_labels: int, removed: np.ndarray, cap: Cap | None) -> Task:
    """What kernels are to do with each query."""
    postings, counts = (0, _NO_COUNTS) if cap is None else (cap.postings, cap.counts)
    return Task(settings.alpha, settings.beta, wants_labels, removed, postings, counts)


def check_fit(index: HybridIndex, labels: Labels) -> None:
    """Raise ValueError unless every row of the index has its labels."""
    if labels.n_rows != index.n_rows:
        raise ValueError(f"labels of {labels.n_rows} rows for an index of {index.n_rows}")


def _checked(index: HybridIndex, queries: QuantisedRows) -> QuantisedRows:
    queries = queries._replace(n_features=index.n_features).prepared()
    check_rows(queries, "queries")
    index.check_lists(queries.indices)
    return queries


def _run(job: _Job, n_jobs: int) -> tuple[np.ndarray, ...]:
    """Answer all queries."""
    queries, settings = job.queries, job.settings
    n_rescored = 0 if job.cap is None else job.cap.n_rescored
    width = job.k or settings.n_neighbors
    if job.wants_scores:
        width = min(n_rescored, job.index.n_rows)
    ids = np.empty((queries.n_rows, width), dtype=np.int64)
    out = ids, *(np.empty(ids.shape) for _ in range(1 + job.wants_scores))
    longest = int(np.diff(queries.indptr).max(initial=0))
    task = task_of(settings, int(job.k > 0), job.removed, job.cap)

    wanted = job.labels, job.method, settings.n_neighbors, job.k, n_rescored
    pruned = not n_rescored and is_pruned(job.index, job.method, settings.n_neighbors, longest)

    def fits(held: Searcher) -> bool:
        (labels, *rest), (own, *others) = held.made_for, wanted
        same = labels is own and rest == others
        return same and held.is_pruned == pruned and held.longest >= longest

    def make() -> Searcher:
        return Searcher(job.index, *wanted[:-1], longest, n_rescored)

    def answer(first: int, last: int) -> None:
        mine = queries._replace(indptr=queries.indptr[first : last + 1])
        with job.index.searchers.lend(fits, make) as searcher:
            searcher.answer(table(task), table(mine), tuple(part[first:last] for part in out))

    in_parallel(answer, queries.n_rows, check_n_jobs(n_jobs))
    return out
