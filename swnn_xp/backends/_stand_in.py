"""NumPy answers for the kernels while they are being compiled: the same bits, more slowly."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from swnn_kernels import HybridIndex
from swnn_kernels.background import SEARCHES
from swnn_kernels.index import decode_rows
from swnn_xp.backends.numpy_ import NumpyIndex
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import QuantisedRows, slice_rows

Answers = TypeVar("Answers", Neighbours, Ranking)

_EXACT = {0.0, 1.0, 2.0}  # exponents for which NumPy's powers have the same bits
_LARGE = 2**24  # non-zeros that are not worth copying for a few seconds
_BLOCK = 64  # queries answered before looking whether the kernels are ready


class StandIn:
    """Has a copy of an index for NumPy as long as it is needed."""

    def __init__(self, kernel_index: HybridIndex) -> None:
        self._kernel_index = kernel_index
        self._copy: NumpyIndex | None = None

    def get(self, *exponents: float) -> NumpyIndex | None:
        """Return the copy, or None if the kernels must or can search with these exponents."""
        refused = self._kernel_index.nnz > _LARGE or not _EXACT.issuperset(exponents)
        if refused or SEARCHES.is_ready():
            self._copy = None
            return None
        if (copy := self._copy) is None:
            rows = decode_rows(self._kernel_index.arrays())
            copy = self._copy = NumpyIndex(QuantisedRows(*rows))
        return copy

    def answer(
        self,
        queries: QuantisedRows,
        by_numpy: Callable[[NumpyIndex, QuantisedRows], Answers],
        by_kernels: Callable[[QuantisedRows], Answers],
        *exponents: float,
    ) -> Answers:
        """Answer queries by NumPy, a few at a time, until the kernels can take the rest."""
        parts: list[Answers] = []
        first, n_queries = 0, queries.n_rows
        while first < n_queries and (copy := self.get(*exponents)) is not None:
            last = min(first + _BLOCK, n_queries)
            parts.append(by_numpy(copy, slice_rows(queries, first, last)))
            first = last
        if first < n_queries or not parts:
            parts.append(by_kernels(slice_rows(queries, first, n_queries)))
        return parts[0] if len(parts) == 1 else _joined(parts)


def _joined(parts: list[Answers]) -> Answers:
    return type(parts[0])(*map(np.concatenate, zip(*parts, strict=True)))
