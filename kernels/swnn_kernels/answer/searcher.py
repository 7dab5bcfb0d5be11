"""A search with its buffers, ready to answer canonical queries: one for each thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from swnn_kernels._numba import table
from swnn_kernels.answer import kernels
from swnn_kernels.answer.buffers import prune_buffers, query_buffers
from swnn_kernels.answer.methods import is_pruned
from swnn_kernels.index.hybrid import HybridIndex
from swnn_kernels.vote.labels import Labels


class Searcher:
    """Buffers for queries of at most ``longest`` features and answers of at most k labels."""

    def __init__(
        self, index: HybridIndex, labels: Labels, method: str, n_neighbors: int, k: int,
        longest: int, budget: int = -1,
    ) -> None:  # fmt: skip
        self.k, self.longest = k, longest
        self.is_pruned = is_pruned(index, method, n_neighbors, longest)
        self.buffers = query_buffers(index, labels, n_neighbors, k, longest)
        self.buffers_table = table(self.buffers)
        self.prune: Any = None
        self._answer: Any = kernels.answer_exhaustive
        self._call: Any = kernels.ExhaustiveCall
        if self.is_pruned:
            self.prune = prune_buffers(index, longest, budget)
            own: tuple[Any, ...] = index.pruned_table, self.buffers_table, table(self.prune)
            self._answer, self._call = kernels.answer_pruned, kernels.PrunedCall
        else:
            own = table(index.postings), self.buffers_table
        self._tables = *own, table(labels)

    def answer(
        self, task_table: Any, queries_table: Any, out: tuple[np.ndarray, np.ndarray]
    ) -> None:
        """Answer queries into the two arrays of ``out``."""
        self.prepared(task_table, queries_table, out, kernels.NO_RAW_QUERY)(-1)

    def prepared(
        self,
        task_table: Any,
        queries_table: Any,
        out: tuple[np.ndarray, np.ndarray],
        raw: kernels.RawQuery,
    ) -> Callable[[int], int]:
        """Bind the arguments of `answer`, for a caller who answers many times into ``out``.

        The function takes the size of the raw query, -1 for canonical queries, and returns a fault.
        """
        flat = out[0].reshape(-1), out[1].reshape(-1)
        call = self._call(*self._tables, task_table, queries_table, table(raw), *flat)
        return partial(self._answer, table(call))
