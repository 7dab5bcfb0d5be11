"""Cut training rows into runs whose temporaries fit the memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from array_api_compat import array_namespace, device

from swnn_xp.rows.records import Array

PAIR_BYTES = 96  # temporaries of one (query, row) pair: products, similarity, choice of the best
SHARE = 4  # a run takes a quarter of the memory for one query, so that blocks stay useful

RowRun = TypeVar("RowRun")


class RowRunCache(Generic[RowRun]):
    """The runs for one memory budget: made when a query first needs them, kept until it changes.

    Examples
    --------
    >>> cache = RowRunCache()
    >>> halves = lambda budget: [budget // 2]
    >>> cache.get(8, halves), cache.get(6, halves)
    ([4], [3])
    """

    def __init__(self) -> None:
        self._made: tuple[int, Sequence[RowRun]] | None = None

    def get(self, memory_budget: int, make: Callable[[int], Sequence[RowRun]]) -> Sequence[RowRun]:
        """Return the runs for a budget."""
        made = self._made  # read once: another thread may store others meanwhile
        if made is None or made[0] != memory_budget:
            made = memory_budget, make(memory_budget)
            self._made = made
        return made[1]


def runs_that_fit(indptr: Array, entry_bytes: int, memory: int) -> list[tuple[int, int]]:
    """Runs of rows (first, last) that take their share of the memory with one query.

    Parameters
    ----------
    indptr : int64 array (n_rows + 1,)
    entry_bytes : int
        Temporaries of one (query, stored entry) pair.
    memory : int
        Bytes in all.

    Examples
    --------
    >>> import numpy as np
    >>> runs_that_fit(np.asarray([0, 2, 4, 6]), 8, 4 * 2 * (96 + 16))
    [(0, 2), (2, 3)]
    """
    xp, n_rows = array_namespace(indptr), int(indptr.shape[0]) - 1
    number = xp.arange(n_rows + 1, dtype=xp.int64, device=device(indptr))
    cost = indptr * entry_bytes + number * PAIR_BYTES
    runs, first = [], 0
    while first < n_rows:
        limit = cost[first : first + 1] + memory // SHARE
        last = int(xp.searchsorted(cost, limit, side="right")[0]) - 1
        runs.append((first, max(last, first + 1)))
        first = runs[-1][1]
    return runs


def queries_that_fit(
    indptr: Array, runs: list[tuple[int, int]], entry_bytes: int, query_bytes: int, memory: int
) -> int:
    """Number of queries whose temporaries with any run fit the memory; 1 at least."""
    costs = [
        (int(indptr[last]) - int(indptr[first])) * entry_bytes + (last - first) * PAIR_BYTES
        for first, last in runs
    ]
    return max(1, memory // (max(costs, default=0) + query_bytes + 1))
