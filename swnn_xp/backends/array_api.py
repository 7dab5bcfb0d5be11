"""The portable backend: the whole method in standard array-API functions, on any namespace.

The standard has no sparse matrices and no scatter, but it has `take` and running sums, and CSR rows
are runs. A query becomes a dense vector; taken at every stored feature of the training rows and
multiplied with their quantised values, it gives the terms of all dot products, row after row.
Differences of their running sum are the dot products. In int64 this is exact, even where the
running sum wraps.

This is the reference for other backends, not a fast path: each query passes over all training
entries. An expansion of only the shared features would touch fewer, but has to sort them by row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from swnn_xp.backends._device import DeviceIndex, device_slice
from swnn_xp.backends._memory import queries_that_fit, shard_runs
from swnn_xp.results import Neighbours
from swnn_xp.rows.input_kind import is_host
from swnn_xp.rows.on_device import Entries, dense_entries
from swnn_xp.rows.records import Array, QuantisedRows

_ENTRY_BYTES = 40  # temporaries of one (query, stored entry): taken, multiplied, running sum
_FEATURE_BYTES = 48  # temporaries of one (query, feature) of the dense block


class ArrayApiIndex(DeviceIndex):
    """Training rows as they are, in shards whose products fit the memory."""

    backend = "array-api"

    @classmethod
    def asarray(cls, array: Any, device: Any) -> Array:
        """Leave it: an index that is built from the host is built on NumPy."""
        return array

    def upload(self, array: Any) -> Array:
        """Copy an array from the host to the index's namespace and device."""
        given = np.asarray(array)
        # Named, for a namespace may take its device's default dtype where none is asked for.
        dtype = getattr(self.xp, given.dtype.name)
        return self.xp.asarray(given, dtype=dtype, device=self.device)

    @classmethod
    def prepare(cls, X: Any, name: str, device: Any = None) -> QuantisedRows:
        """Turn a matrix into canonical unit rows where it is."""
        if is_host(X) and device not in (None, "cpu"):
            raise ValueError(f"{name} is on the host: bring it to device {device} first")
        return super().prepare(X, name, device)

    @classmethod
    def accepts(cls, X: Any) -> bool:
        """Tell whether it is a dense array of some namespace."""
        # torch calls its sparse tensors arrays too; only they have a layout other than strided.
        return is_array_api_obj(X) and "sparse" not in str(getattr(X, "layout", ""))

    @classmethod
    def entries(cls, X: Any, name: str) -> Entries:
        """Entries of a dense array."""
        return dense_entries(X, name)

    @classmethod
    def device_of(cls, array: Array) -> Any:
        """Device of an array."""
        return device(array)

    @classmethod
    def find_device(cls, device: Any) -> Any:
        """Take the device as it is: only its namespace knows what it means."""
        return device

    def queries(self, X: Any) -> QuantisedRows:
        """Turn queries into unit rows; they must be of the index's namespace or from the host."""
        rows = super().queries(X)
        if array_namespace(rows.quantised) is not self.xp:
            ours, theirs = self.xp.__name__, array_namespace(rows.quantised).__name__
            raise ValueError(f"X is of namespace {theirs}, but the model was fitted on {ours}")
        return rows

    def _keep(self, rows: QuantisedRows) -> None:
        self._rows = rows
        runs = shard_runs(rows.indptr, _ENTRY_BYTES, self.memory_budget)
        self._shards = [(first, last, device_slice(rows, first, last)) for first, last in runs]

    def _device_rows(self) -> QuantisedRows:
        return self._rows

    def _block_size(self, n_neighbors: int) -> int:
        runs = [(first, last) for first, last, _ in self._shards]
        dense = self.n_features * _FEATURE_BYTES
        return queries_that_fit(self._rows.indptr, runs, _ENTRY_BYTES, dense, self.memory_budget)

    def _search_block(
        self, block: QuantisedRows, n_neighbors: int, beta: float, removed: Array | None
    ) -> Neighbours:
        xp = self.xp
        quantised, ones = self._dense(block)

        def products(shard: QuantisedRows) -> tuple[Array, Array]:
            features = xp.astype(shard.indices, xp.int64)
            dots = _row_sums(xp.take(quantised, features, axis=1) * shard.quantised[None, :], shard)
            overlaps = dots  # not looked at when beta is 0
            if beta:
                overlaps = _row_sums(xp.take(ones, features, axis=1), shard)
            return dots, overlaps

        sizes = xp.astype(block.indptr[1:] - block.indptr[:-1], xp.float64)
        return self._best_of_shards(self._shards, products, sizes, n_neighbors, beta, removed)

    def _dense(self, block: QuantisedRows) -> tuple[Array, Array]:
        """Units of each query by feature, and ones where it has the feature; int64."""
        xp, shape = self.xp, (block.n_rows, block.n_features)
        quantised = xp.astype(block.quantised, xp.int64)
        return (
            self._spread(block.indptr, block.indices, quantised, shape),
            self._spread(block.indptr, block.indices, xp.ones_like(quantised), shape),
        )

    def _sparse(self, indptr: Array, columns: Array, values: Array, shape: tuple[int, int]) -> Any:
        """Make a dense matrix: the standard has no sparse ones."""
        return self._spread(indptr, columns, values, shape)

    def _spread(
        self, indptr: Array, columns: Array, values: Array, shape: tuple[int, int]
    ) -> Array:
        """Make a dense matrix out of compressed rows with ascending columns."""
        xp = self.xp
        if values.shape[0] == 0:
            return xp.zeros(shape, dtype=values.dtype, device=self.device)
        row = xp.arange(shape[0], dtype=xp.int64, device=self.device)
        stored = xp.repeat(row, indptr[1:] - indptr[:-1]) * shape[1]
        stored = stored + xp.astype(columns, xp.int64)
        # The standard can't write to chosen places, so every place looks itself up.
        places = xp.arange(shape[0] * shape[1], dtype=xp.int64, device=self.device)
        at = xp.searchsorted(stored, places)
        at = xp.where(at < stored.shape[0], at, xp.zeros_like(at))
        there, taken = xp.take(stored, at) == places, xp.take(values, at)
        return xp.reshape(xp.where(there, taken, xp.zeros_like(taken)), shape)


def _row_sums(terms: Array, rows: QuantisedRows) -> Array:
    """Sums of each row's run of terms (queries, entries), as float64 (queries, rows)."""
    xp = array_namespace(terms)
    running = xp.cumulative_sum(terms, axis=1, dtype=xp.int64, include_initial=True)
    ends = xp.take(running, rows.indptr[1:], axis=1)
    return xp.astype(ends - xp.take(running, rows.indptr[:-1], axis=1), xp.float64)
