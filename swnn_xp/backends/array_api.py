"""The portable backend: the whole method in standard array-API functions, on any namespace.

The standard has no sparse matrices and no scatter, but it has `take` and running sums, and CSR rows
are runs. A query becomes a dense vector; taken at every stored feature of the training rows and
multiplied by their quantised values, it gives the terms of all dot products, row after row.
Differences of their running sum are the dot products. In int64 this is exact, even where the
running sum wraps.

This is the reference for other backends, not a fast path: each query passes over all training
entries. An expansion of only the shared features would touch fewer, but has to sort them by row.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import array_api_compat as compat
import numpy as np
from array_api_compat import array_namespace
from array_api_compat import device as array_device

from swnn_xp.backends.device import DeviceIndex, Search
from swnn_xp.backends.index import RowRunCache, queries_that_fit, runs_that_fit
from swnn_xp.backends.placement import DevicePlacement, is_cpu
from swnn_xp.results import Neighbours
from swnn_xp.rows.input_kind import is_host
from swnn_xp.rows.on_device import Entries, dense_entries
from swnn_xp.rows.records import Array, QuantisedRows, ValueRows, row_sizes, slice_rows

_ENTRY_BYTES = 40  # temporaries of one (query, stored entry): taken, multiplied, running sum
_FEATURE_BYTES = 48  # temporaries of one (query, feature) of the dense block


class ArrayApiPlacement(DevicePlacement):
    """A device of some array-API namespace; rows from the host stay there, in NumPy."""

    def __init__(self, backend: str, device: Any, xp: Any = None) -> None:
        self.xp = array_namespace(np.empty(0)) if xp is None else xp
        super().__init__(backend, _known_device(self.xp, device))
        _require_64_bits(self.xp, self.device)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"xp": self.xp.__name__}  # a module can't be pickled

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, xp=importlib.import_module(state["xp"]))

    @classmethod
    def find(cls, backend: str, device: Any = None, X: Any = None) -> Self:
        """Choose a placement: where X is; the host if it is there or not given."""
        if X is None or is_host(X):
            if not is_cpu(device):
                raise ValueError(f"X is on the host: bring it to device {device} first")
            return cls(backend, "cpu")
        cls._require_accepted(X, backend, "X")
        placement = cls(backend, cls.device_of(X), array_namespace(X))
        return placement if device is None else placement.require_device(device, "X")

    def moved(self, device: Any) -> Self:
        """Placement on another device of the same namespace; itself if it is there already."""
        wanted = self._named(device)
        return self if wanted == self.device else type(self)(self.backend, wanted, self.xp)

    @classmethod
    def find_device(cls, device: Any) -> Any:
        """Take the device as it is: only its namespace knows what it means."""
        return device

    def _named(self, device: Any) -> Any:
        return _known_device(self.xp, device)

    @classmethod
    def device_of(cls, array: Array) -> Any:
        """Device of an array."""
        return array_device(array)

    @classmethod
    def accepts(cls, X: Any, backend: str) -> bool:
        """True for dense arrays that hold their values, of any namespace."""
        # torch calls its sparse tensors arrays too; only they have a layout other than strided.
        sparse = compat.is_pydata_sparse_array(X) or "sparse" in str(getattr(X, "layout", ""))
        return compat.is_array_api_obj(X) and not sparse and not compat.is_dask_array(X)

    def entries(self, X: Any, name: str) -> Entries:
        """Entries of a dense array."""
        return dense_entries(X, name)

    def to_device(self, array: Any) -> Array:
        """Copy an array from the host to the namespace and device."""
        given = np.asarray(array)
        if not given.flags.writeable and not compat.is_numpy_namespace(self.xp):
            given = given.copy()  # torch would share the memory, and warn of it
        # Named, for a namespace may take its device's default dtype where none is asked for.
        dtype = getattr(self.xp, given.dtype.name)
        return self.xp.asarray(given, dtype=dtype, device=self.device)

    def canonical(self, X: Any, name: str = "X") -> ValueRows:
        """Bring a matrix into canonical rows; it must be of this namespace or from the host."""
        if not is_host(X):
            self._require_accepted(X, self.backend, name)
            if (theirs := array_namespace(X)) is not self.xp:
                raise ValueError(
                    f"{name} is of namespace {theirs.__name__}, but the model is in "
                    f"{self.xp.__name__}"
                )
        return super().canonical(X, name)

    def sparse(self, indptr: Array, columns: Array, values: Array, shape: tuple[int, int]) -> Array:
        """Make a dense matrix, for the standard has no sparse ones; columns ascend in each row."""
        xp = self.xp
        if values.shape[0] == 0:
            return xp.zeros(shape, dtype=values.dtype, device=self.device)
        row = xp.arange(shape[0], dtype=xp.int64, device=self.device)
        stored = xp.repeat(row, indptr[1:] - indptr[:-1]) * shape[1]
        stored = stored + xp.astype(columns, xp.int64)
        # The standard can't write to chosen positions, so every position looks itself up.
        positions = xp.arange(shape[0] * shape[1], dtype=xp.int64, device=self.device)
        at = xp.searchsorted(stored, positions)
        at = xp.where(at < stored.shape[0], at, xp.zeros_like(at))
        there, taken = xp.take(stored, at) == positions, xp.take(values, at)
        return xp.reshape(xp.where(there, taken, xp.zeros_like(taken)), shape)


class _RowRun(NamedTuple):
    first: int
    last: int
    rows: QuantisedRows


class ArrayApiIndex(DeviceIndex):
    """Training rows as they are, in runs whose products fit the memory."""

    backend = "array-api"
    placement = ArrayApiPlacement

    def __init__(self, rows: QuantisedRows, placement: ArrayApiPlacement) -> None:
        super().__init__(rows, placement)
        self._rows = rows
        self._cache: RowRunCache[_RowRun] = RowRunCache()

    def _device_rows(self) -> QuantisedRows:
        return self._rows

    def _runs(self, memory_budget: int) -> Sequence[_RowRun]:
        return self._cache.get(memory_budget, self._make_runs)

    def _make_runs(self, memory_budget: int) -> Sequence[_RowRun]:
        bounds = runs_that_fit(self._rows.indptr, _ENTRY_BYTES, memory_budget)
        return [_RowRun(*its, slice_rows(self._rows, *its)) for its in bounds]

    def _block_size(self, search: Search) -> int:
        budget = search.options.memory_budget
        bounds = [(run.first, run.last) for run in self._runs(budget)]
        dense = self.n_features * _FEATURE_BYTES
        return queries_that_fit(self._rows.indptr, bounds, _ENTRY_BYTES, dense, budget)

    def _search_block(self, block: QuantisedRows, search: Search) -> Neighbours:
        xp = self.xp
        quantised = self._dense(block, xp.astype(block.quantised, xp.int64))
        ones = self._dense(block, xp.ones_like(block.quantised, dtype=xp.int64))

        def products(run: _RowRun) -> tuple[Array, Array]:
            rows = run.rows
            features = xp.astype(rows.indices, xp.int64)
            dots = _row_sums(xp.take(quantised, features, axis=1) * rows.quantised[None, :], rows)
            if not search.beta:
                return dots, dots  # overlaps are not looked at
            return dots, _row_sums(xp.take(ones, features, axis=1), rows)

        sizes = xp.astype(row_sizes(block), xp.float64)
        runs = self._runs(search.options.memory_budget)
        return self._best_of_runs(runs, products, sizes, search)

    def _dense(self, block: QuantisedRows, values: Array) -> Array:
        """Values of each query by feature; int64."""
        shape = block.n_rows, block.n_features
        return self._placement.sparse(block.indptr, block.indices, values, shape)


def _row_sums(terms: Array, rows: QuantisedRows) -> Array:
    """Sums of each row's run of terms (queries, entries), as float64 (queries, rows)."""
    xp = array_namespace(terms)
    running = xp.cumulative_sum(terms, axis=1, dtype=xp.int64, include_initial=True)
    ends = xp.take(running, rows.indptr[1:], axis=1)
    return xp.astype(ends - xp.take(running, rows.indptr[:-1], axis=1), xp.float64)


def _known_device(xp: Any, device: Any) -> Any:
    """Device as the namespace's arrays name theirs, whatever the user calls it."""
    try:
        return array_device(xp.empty(0, device=device))
    except Exception as error:  # whatever the library raises for a device it lacks
        raise ValueError(f"no device {device!r} in {xp.__name__}") from error


def _require_64_bits(xp: Any, device: Any) -> None:
    """Refuse a namespace or device that computes in less: the sums would not be exact."""
    for name, info in (("float64", "finfo"), ("int64", "iinfo")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # JAX warns that it truncates, and goes on
                made = xp.asarray(1, dtype=getattr(xp, name), device=device)
                bits = getattr(xp, info)(made.dtype).bits
        except Exception as error:  # whatever the library raises for a dtype or device it lacks
            raise ValueError(_no_64_bits(xp, device, name)) from error
        if bits != 64:
            raise ValueError(_no_64_bits(xp, device, name))


def _no_64_bits(xp: Any, device: Any, dtype: str) -> str:
    enable = "; set jax_enable_x64" if "jax" in xp.__name__ else ""
    return f"{xp.__name__} has no {dtype} on device {device}, which exact sums need{enable}"
