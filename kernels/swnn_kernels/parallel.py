"""Parts of a batch, one thread each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def in_parallel(answer: Callable[[int, int], None], n_queries: int, n_jobs: int) -> None:
    """Call ``answer(first, last)`` on equal parts of the queries, one thread each."""
    n_jobs = min(n_jobs, max(1, n_queries))
    cuts = [n_queries * j // n_jobs for j in range(n_jobs + 1)]
    if n_jobs == 1:
        answer(0, n_queries)
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(answer, cuts[:-1], cuts[1:]))
