"""The NumPy/SciPy backend: one sparse product gives dot products and overlaps of a block.

Queries times transposed training rows, in integers. Each feature stands twice in the product: once
with the units (the query's times 2**16) and once with ones, so that one 64-bit sum holds
``dot * 2**16 + overlap``. Rows too long for 16 bits of overlap take two products instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from swnn_xp._sparse import to_csr
from swnn_xp._types import Neighbours, UnitRows
from swnn_xp.backends._base import Index
from swnn_xp.search import merge, top_rows
from swnn_xp.similarity import similarity

_OVERLAP_BITS = 16
_PAIR_BYTES = 96  # temporaries of one (query, row) pair: product, unpacked parts, similarity, top
_SHARE = 4  # a shard of rows takes a quarter of the budget for one query, so blocks stay useful


class NumpyIndex(Index):
    """Training rows as transposed CSR matrices, one per shard of rows that fits the budget."""

    backend = "numpy"

    def __init__(self, rows: UnitRows, memory_budget: int) -> None:
        self.memory_budget = memory_budget
        self._rows = rows
        self._sizes = np.diff(rows.indptr).astype(np.float64)
        step = max(1, min(rows.n_rows, memory_budget // (_PAIR_BYTES * _SHARE)))
        self._shards = [
            (first, _transposed(rows, first, min(first + step, rows.n_rows)))
            for first in range(0, rows.n_rows, step)
        ]
        self._shard_rows = step

    @classmethod
    def build(
        cls, rows: UnitRows, *, memory_budget: int, n_jobs: int = 1, device: Any = None
    ) -> NumpyIndex:
        """Prepare an index over the rows."""
        return cls(rows, memory_budget)

    @classmethod
    def from_arrays(
        cls,
        arrays: dict[str, Any],
        n_features: int,
        *,
        memory_budget: int,
        n_jobs: int = 1,
        device: Any = None,
    ) -> NumpyIndex:
        """Make the index again out of ``arrays()``."""
        return cls(
            UnitRows(arrays["indptr"], arrays["indices"], arrays["units"], n_features),
            memory_budget,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._rows.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._rows.n_features

    def rows(self) -> UnitRows:
        """Return the rows that the index was built from."""
        return self._rows

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the rows: all else is derived from them."""
        return {
            "indptr": self._rows.indptr,
            "indices": self._rows.indices,
            "units": self._rows.units,
        }

    def search(
        self, queries: UnitRows, n_neighbors: int, beta: float, dead: Any = None
    ) -> Neighbours:
        """Find the best rows of each query, never one that is marked in ``dead``."""
        found = Neighbours(
            np.full((queries.n_rows, n_neighbors), -1, np.int64),
            np.zeros((queries.n_rows, n_neighbors)),
        )
        step = max(1, self.memory_budget // (_PAIR_BYTES * max(1, self._shard_rows)))
        for start in range(0, queries.n_rows, step):
            block = slice_rows(queries, start, min(start + step, queries.n_rows))
            for first, transposed in self._shards:
                sims = self._similarities(block, first, transposed, beta)
                if dead is not None:
                    sims[:, dead[first : first + sims.shape[1]]] = 0
                best = top_rows(sims, min(n_neighbors, sims.shape[1]), _kth_largest)
                best = Neighbours(np.where(best.ids >= 0, best.ids + first, -1), best.sims)
                here = slice(start, start + block.n_rows)
                before = Neighbours(found.ids[here], found.sims[here])
                found.ids[here], found.sims[here] = merge(before, best, n_neighbors)
        return found

    def _similarities(
        self, block: UnitRows, first: int, transposed: sp.csr_array, beta: float
    ) -> NDArray[np.float64]:
        """Dense similarities of a block of queries and a shard of rows."""
        query_sizes = np.diff(block.indptr).astype(np.float64)
        row_sizes = self._sizes[first : first + transposed.shape[1]]
        longest = min(query_sizes.max(initial=0), row_sizes.max(initial=0))
        measure = _by_packed_product if longest < 1 << _OVERLAP_BITS else _by_two_products
        return measure(block, transposed, query_sizes, row_sizes, beta)


def slice_rows(rows: UnitRows, first: int, last: int) -> UnitRows:
    """Rows ``first`` to ``last`` (exclusive) as views."""
    start, stop = int(rows.indptr[first]), int(rows.indptr[last])
    indptr = rows.indptr[first : last + 1] - start
    return UnitRows(indptr, rows.indices[start:stop], rows.units[start:stop], rows.n_features)


def _transposed(rows: UnitRows, first: int, last: int) -> sp.csr_array:
    units, ones = _units_and_ones(slice_rows(rows, first, last))
    return sp.vstack([units.T, ones.T], format="csr")


def _by_packed_product(
    block: UnitRows, transposed: sp.csr_array, query_sizes: Any, row_sizes: Any, beta: float
) -> NDArray[np.float64]:
    """Similarities from one product, computed only where query and row share a feature."""
    units, ones = _units_and_ones(block)
    packed = sp.hstack([units * (1 << _OVERLAP_BITS), ones], format="csr") @ transposed
    dots = (packed.data >> _OVERLAP_BITS).astype(np.float64)
    overlaps = (packed.data & ((1 << _OVERLAP_BITS) - 1)).astype(np.float64)
    at_query = np.repeat(query_sizes, np.diff(packed.indptr))
    sims = similarity(dots, overlaps, at_query, row_sizes[packed.indices], beta)
    return sp.csr_array((sims, packed.indices, packed.indptr), shape=packed.shape).toarray()


def _by_two_products(
    block: UnitRows, transposed: sp.csr_array, query_sizes: Any, row_sizes: Any, beta: float
) -> NDArray[np.float64]:
    """Similarities from two products: for rows whose overlap may not fit 16 bits."""
    units, ones = _units_and_ones(block)
    dots = (units @ transposed[: block.n_features]).toarray().astype(np.float64)
    overlaps = (ones @ transposed[block.n_features :]).toarray().astype(np.float64)
    return similarity(dots, overlaps, query_sizes[:, None], row_sizes[None, :], beta)


def _units_and_ones(rows: UnitRows) -> tuple[sp.csr_array, sp.csr_array]:
    shape = rows.n_rows, rows.n_features
    units = to_csr(rows.indptr, rows.indices, rows.units.astype(np.int64), shape)
    ones = sp.csr_array((np.ones_like(units.data), units.indices, units.indptr), shape)
    return units, ones


def _kth_largest(sims: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    place = sims.shape[1] - k
    return np.partition(sims, place, axis=1)[:, place, None]
