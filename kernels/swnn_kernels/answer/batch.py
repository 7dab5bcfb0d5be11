"""Many queries at once, on one core or on several."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swnn_kernels._numba import table
from swnn_kernels.answer.searcher import Searcher, is_pruned
from swnn_kernels.index.hybrid import HybridIndex
from swnn_kernels.index.validation import check_rows
from swnn_kernels.neighbours.records import Task
from swnn_kernels.parallel import in_parallel
from swnn_kernels.records import (
    QuantisedRows,
    Settings,
    check_k,
    check_n_jobs,
    check_removed,
    check_settings,
)
from swnn_kernels.vote import Labels

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
    return _run(_Job(index, _NO_LABELS, checked, settings, 0, flags, method), n_jobs)


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
    return _run(_Job(index, labels, checked, settings, k, flags, method), n_jobs)


def check_fit(index: HybridIndex, labels: Labels) -> None:
    """Raise ValueError unless every row of the index has its labels."""
    if labels.n_rows != index.n_rows:
        raise ValueError(f"labels of {labels.n_rows} rows for an index of {index.n_rows}")


def _checked(index: HybridIndex, queries: QuantisedRows) -> QuantisedRows:
    queries = queries._replace(n_features=index.n_features).prepared()
    check_rows(queries, "queries")
    index.check_lists(queries.indices)
    return queries


def _run(job: _Job, n_jobs: int) -> tuple[np.ndarray, np.ndarray]:
    """Answer all queries."""
    queries, settings = job.queries, job.settings
    ids = np.empty((queries.n_rows, job.k or settings.n_neighbors), dtype=np.int64)
    values = np.empty(ids.shape)
    longest = int(np.diff(queries.indptr).max(initial=0))
    task = Task(settings.alpha, settings.beta, -1, int(job.k > 0), job.removed)

    wanted = job.labels, job.method, settings.n_neighbors, job.k
    pruned = is_pruned(job.index, job.method, settings.n_neighbors, longest)

    def fits(held: Searcher) -> bool:
        (labels, *rest), (own, *others) = held.made_for, wanted
        same = labels is own and rest == others
        return same and held.is_pruned == pruned and held.longest >= longest

    def make() -> Searcher:
        return Searcher(job.index, *wanted, longest)

    def answer(first: int, last: int) -> None:
        mine = queries._replace(indptr=queries.indptr[first : last + 1])
        with job.index.searchers.lend(fits, make) as searcher:
            searcher.answer(table(task), table(mine), (ids[first:last], values[first:last]))

    in_parallel(answer, queries.n_rows, check_n_jobs(n_jobs))
    return ids, values
