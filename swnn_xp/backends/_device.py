"""An index whose rows live on some device: what the portable, torch and CuPy backends share.

Queries go in blocks, training rows in shards; a block and a shard give two matrices, the dot
products and the overlaps, and the rest is the array API. Everything stays on the device: what
comes back to the host is a scalar now and then, and results for a caller who came from the host.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

from array_api_compat import array_namespace

from swnn_xp.backends._base import Index, join_rankings
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.canonical import canonical_rows, to_csr
from swnn_xp.rows.input_kind import host_array, host_rows, is_host, kind_of, mapped_rows
from swnn_xp.rows.on_device import Entries, device_rows
from swnn_xp.rows.quantise import quantise_rows
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows
from swnn_xp.rows.untrusted import opened_rows
from swnn_xp.search.similarity import similarity
from swnn_xp.search.top_rows import merge, missing, shifted, top_rows
from swnn_xp.vote.votes import Votes, join_votes

Part = TypeVar("Part")


class DeviceIndex(Index):
    """Training rows on a device; a subclass multiplies, and knows its library's habits."""

    out_of_memory: ClassVar[tuple[type[Exception], ...]] = (MemoryError,)

    def __init__(self, rows: QuantisedRows, memory_budget: int, device: Any) -> None:
        self.memory_budget = memory_budget
        self.device = device
        self.xp = array_namespace(rows.quantised)
        self._shape = rows.n_rows, rows.n_features
        self._placed: tuple[LabelRows, LabelRows] | None = None
        with self.on(device):
            self._sizes = self.xp.astype(rows.indptr[1:] - rows.indptr[:-1], self.xp.float64)
            self._keep(rows)

    @classmethod
    @abstractmethod
    def asarray(cls, array: Any, device: Any) -> Array:
        """Copy a NumPy array to the device."""

    @classmethod
    @abstractmethod
    def entries(cls, X: Any, name: str) -> Entries:
        """Stored entries of a matrix that is on the device."""

    @classmethod
    @abstractmethod
    def device_of(cls, array: Array) -> Any:
        """Device that an array or matrix is on."""

    @classmethod
    @abstractmethod
    def find_device(cls, device: Any) -> Any:
        """Device that the user's word for it names; None means the library's default."""

    @abstractmethod
    def _keep(self, rows: QuantisedRows) -> None:
        """Derive from the rows what `_search_block` and `_device_rows` need."""

    @abstractmethod
    def _device_rows(self) -> QuantisedRows:
        """Return the rows, still on the device."""

    @abstractmethod
    def _block_size(self, n_neighbors: int) -> int:
        """Number of queries whose temporaries fit the memory."""

    @abstractmethod
    def _search_block(
        self, block: QuantisedRows, n_neighbors: int, beta: float, removed: Array | None
    ) -> Neighbours:
        """Find the best rows of a block of queries."""

    @abstractmethod
    def _sparse(self, indptr: Array, columns: Array, values: Array, shape: tuple[int, int]) -> Any:
        """Make a matrix of the library: sparse, where it has such."""

    def _kth_largest(self, sims: Array, k: int) -> Array:
        """Each row's k-th largest value, shape (rows, 1)."""
        return self.xp.sort(sims, axis=1)[:, sims.shape[1] - k, None]

    @classmethod
    def on(cls, device: Any) -> contextlib.AbstractContextManager[Any]:
        """Make the device the current one, in libraries that have such a notion."""
        return contextlib.nullcontext()

    @classmethod
    def release(cls) -> None:
        """Give cached memory back before another try with less."""

    @classmethod
    def accepts(cls, X: Any) -> bool:
        """Tell whether `entries` takes the matrix."""
        return kind_of(X) == cls.backend

    @classmethod
    def prepare(cls, X: Any, name: str, device: Any = None) -> QuantisedRows:
        """Turn a matrix into canonical unit rows on the device; on its own, if it is on one."""
        if is_host(X):
            rows = quantise_rows(canonical_rows(X, name))
            return cls._uploaded(rows, cls.find_device(device))
        if not cls.accepts(X):
            raise ValueError(f"{name}: backend {cls.backend!r} does not take a {type(X).__name__}")
        found = cls.device_of(X)
        if device is not None and found != cls.find_device(device):
            raise ValueError(f"{name} is on device {found}, not on {cls.find_device(device)}")
        with cls.on(found):
            return device_rows(cls.entries(X, name), name)

    def queries(self, X: Any) -> QuantisedRows:
        """Turn a matrix of queries into canonical unit rows on the index's device."""
        if is_host(X):
            return mapped_rows(self.upload, quantise_rows(canonical_rows(X, "X")))
        return self.prepare(X, "X", self.device)

    @classmethod
    def build(
        cls, rows: QuantisedRows, *, memory_budget: int, n_jobs: int = 1, device: Any = None
    ) -> Self:
        """Prepare an index over rows on the host or on the device."""
        if is_host(rows.quantised):
            rows = cls._uploaded(rows, cls.find_device(device))
        return cls(rows, memory_budget, cls.device_of(rows.quantised))

    def rebuild(self, rows: QuantisedRows, **options: Any) -> Self:
        """Make an index of the same kind over rows from the host, on the same device."""
        return self.build(mapped_rows(self.upload, rows), **options)

    @classmethod
    def from_arrays(
        cls,
        arrays: dict[str, Any],
        n_features: int,
        *,
        memory_budget: int,
        n_jobs: int = 1,
        device: Any = None,
    ) -> Self:
        """Make the index again out of ``arrays()``."""
        rows = opened_rows(arrays, n_features)
        return cls.build(rows, memory_budget=memory_budget, device=device)

    @property
    def stored_as(self) -> str:
        """The NumPy backend's: a model must open where this library is not installed."""
        return "numpy"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._shape[0]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._shape[1]

    def rows(self) -> QuantisedRows:
        """Copy the rows to the host."""
        with self.on(self.device):
            return host_rows(self._device_rows())

    def arrays(self) -> dict[str, Any]:
        """Copy the arrays of the rows to the host: all else is derived from them."""
        return dict(zip(("indptr", "indices", "quantised"), self.rows()[:3], strict=True))

    def upload(self, array: Any) -> Array:
        """Copy an array from the host to the index's device."""
        with self.on(self.device):
            return self.asarray(array, self.device)

    def place(self, labels: LabelRows) -> LabelRows:
        """Copy label rows to the device, once."""
        known = self._placed  # read once: another thread may put other labels there
        if known is not None and known[0] is labels:
            return known[1]
        indptr, indices = self.upload(labels.indptr), self.upload(labels.indices)
        placed = LabelRows(indptr, indices, labels.n_labels)
        self._placed = labels, placed
        return placed

    def like(self, X: Any, *arrays: Array) -> tuple[Array, ...]:
        """Return arrays of the kind that X is: copies on the host, or as they are."""
        with self.on(self.device):
            return tuple(map(host_array, arrays)) if is_host(X) else arrays

    def matrix(self, X: Any, indptr: Array, columns: Array, values: Array, width: int) -> Any:
        """Make a matrix of the kind that X is."""
        shape = int(indptr.shape[0]) - 1, width
        if is_host(X):
            indptr, columns, values = self.like(X, indptr, columns, values)
            return to_csr(indptr, columns, values, shape)
        with self.on(self.device):
            return self._sparse(indptr, columns, values, shape)

    def search(
        self, queries: QuantisedRows, n_neighbors: int, beta: float, removed: Array | None = None
    ) -> Neighbours:
        """Find the best rows of each query, never one that is marked in ``removed``."""
        gone = None if removed is None else self.upload(removed)

        def find(start: int, stop: int) -> Neighbours:
            block = device_slice(queries, start, stop)
            return self._search_block(block, n_neighbors, beta, gone)

        with self.on(self.device):
            if queries.n_rows == 0 or self.n_rows == 0:
                return missing(self.xp, self._sizes, queries.n_rows, n_neighbors)
            parts = self._in_blocks(queries.n_rows, self._block_size(n_neighbors), find)
            ids, sims = (self.xp.concat(arrays) for arrays in zip(*parts, strict=True))
            return Neighbours(ids, sims)

    def vote(self, queries: QuantisedRows, *args: Any, **kwargs: Any) -> Votes:
        """Find neighbours and let them vote: every label with a vote."""

        def count(start: int, stop: int) -> Votes:
            return Index.vote(self, device_slice(queries, start, stop), *args, **kwargs)

        with self.on(self.device):
            return join_votes(self._in_blocks(queries.n_rows, queries.n_rows, count))

    def rank(self, queries: QuantisedRows, *args: Any, **kwargs: Any) -> Ranking:
        """Find neighbours and let them vote: the best labels of each query."""

        def best(start: int, stop: int) -> Ranking:
            return Index.rank(self, device_slice(queries, start, stop), *args, **kwargs)

        with self.on(self.device):
            return join_rankings(self._in_blocks(queries.n_rows, queries.n_rows, best))

    def _in_blocks(self, total: int, step: int, work: Callable[[int, int], Part]) -> list[Part]:
        """Call ``work(start, stop)`` block by block; where memory runs out, halve the block."""
        parts: list[Part] = []
        start, step = 0, max(1, min(step, total))
        while start < total or not parts:
            stop = min(start + step, total)
            try:
                parts.append(work(start, stop))
            except self.out_of_memory:
                if step == 1:
                    raise
                step //= 2
                self.release()
            else:
                start = stop
        return parts

    @classmethod
    def _uploaded(cls, rows: QuantisedRows, device: Any) -> QuantisedRows:
        with cls.on(device):
            return mapped_rows(lambda array: cls.asarray(array, device), rows)

    def _best_of_shards(
        self,
        shards: list[tuple[int, int, Any]],
        products: Callable[[Any], tuple[Array, Array]],
        query_sizes: Array,
        n_neighbors: int,
        beta: float,
        removed: Array | None,
    ) -> Neighbours:
        """Search shard after shard; `products` gives dots and overlaps (queries, rows)."""
        xp = self.xp
        found = missing(xp, self._sizes, int(query_sizes.shape[0]), n_neighbors)
        for first, last, shard in shards:
            dots, overlaps = products(shard)
            row_sizes = self._sizes[None, first:last]
            sims = similarity(dots, overlaps, query_sizes[:, None], row_sizes, beta)
            if removed is not None:
                sims = xp.where(removed[None, first:last], xp.zeros_like(sims), sims)
            best = top_rows(sims, n_neighbors, self._kth_largest)
            found = merge(found, shifted(best, first), n_neighbors)
        return found


def device_slice(rows: QuantisedRows, first: int, last: int) -> QuantisedRows:
    """Rows ``first`` to ``last`` (exclusive)."""
    if (first, last) == (0, rows.n_rows):
        return rows
    start, stop = int(rows.indptr[first]), int(rows.indptr[last])
    indptr = rows.indptr[first : last + 1] - start
    return QuantisedRows(
        indptr, rows.indices[start:stop], rows.quantised[start:stop], rows.n_features
    )
