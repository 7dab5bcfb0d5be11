"""The CuPy backend: CUDA kernels over inverted lists, or sparse products where those do not fit.

Where the host waits for the device: a few scalars while a matrix is brought to canonical rows, one
per block of queries in the product path (ties at the last place), and the copy of results for a
caller who came from the host. Work goes to CuPy's current stream.
"""

from __future__ import annotations

import contextlib
from typing import Any

import cupy
import cupyx.scipy.sparse as cusp
from cupy.cuda.memory import OutOfMemoryError

from swnn_xp.backends import _cuda_kernels as kernels
from swnn_xp.backends._base import join_rankings, most_labels
from swnn_xp.backends._products import ProductIndex
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.on_device import Entries, compressed_entries, dense_entries
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows

_IN_FLIGHT = 8  # queries whose sums lie in the L2 cache together
_ENTRY_BYTES = 40  # inverted lists and what it takes to make them, per stored entry
_FREE_SHARE = 0.8  # of the free memory; the rest is for the libraries' own workspace
_PACKED_OVERLAP = 1 << 16  # overlaps from here on do not fit the kernels' packed sums


class CupyIndex(ProductIndex):
    """Training rows on a CUDA device."""

    backend = "cupy"
    out_of_memory = (OutOfMemoryError,)

    @classmethod
    def unusable(cls) -> str | None:
        """Tell in one line why there is no device to run on, or None."""
        try:
            return None if cupy.cuda.runtime.getDeviceCount() else "CUDA finds no device"
        except cupy.cuda.runtime.CUDARuntimeError as error:
            return f"CUDA finds no device ({error})"

    @classmethod
    def asarray(cls, array: Any, device: Any) -> cupy.ndarray:
        """Copy a NumPy array to the current device."""
        return cupy.asarray(array)

    @classmethod
    def entries(cls, X: Any, name: str) -> Entries:
        """Entries of a dense CuPy array or a sparse matrix of cupyx."""
        if not cusp.issparse(X):
            return dense_entries(X, name)
        if X.format == "csr":
            return compressed_entries(X.indptr, X.indices, X.data, X.shape, name)
        coo = X.tocoo()
        order = cupy.argsort(coo.row, kind="stable")
        sizes = cupy.bincount(coo.row, minlength=X.shape[0])
        indptr = cupy.concatenate([cupy.zeros(1, sizes.dtype), cupy.cumsum(sizes)])
        return compressed_entries(indptr, coo.col[order], coo.data[order], X.shape, name)

    @classmethod
    def device_of(cls, array: Any) -> int:
        """Number of the device that an array or a sparse matrix is on."""
        data = array.data if cusp.issparse(array) else array
        return int(data.device.id)

    @classmethod
    def find_device(cls, device: Any) -> int:
        """Number of a device; without one the current device."""
        count = cupy.cuda.runtime.getDeviceCount()
        number = cupy.cuda.Device().id if device is None else getattr(device, "id", device)
        if not isinstance(number, int) or not 0 <= number < count:
            raise ValueError(f"device must be the number of a CUDA device below {count}: {device}")
        return number

    @classmethod
    def on(cls, device: Any) -> contextlib.AbstractContextManager[Any]:
        """Make the device the current one."""
        return cupy.cuda.Device(device)

    @classmethod
    def release(cls) -> None:
        """Give the memory pool's unused blocks back to the device."""
        cupy.get_default_memory_pool().free_all_blocks()

    def _keep(self, rows: QuantisedRows) -> None:
        self._lists: kernels.InvertedLists | None = None
        if self._kernels_fit(rows):
            with contextlib.suppress(OutOfMemoryError):
                self._lists = kernels.InvertedLists.of(rows)
        if self._lists is None:
            super()._keep(rows)

    def _kernels_fit(self, rows: QuantisedRows) -> bool:
        """Tell whether there is room for inverted lists and no row is too long for packed sums."""
        room = _ENTRY_BYTES * int(rows.indices.shape[0]) + 8 * _IN_FLIGHT * rows.n_rows
        longest = int(self._sizes.max()) if rows.n_rows else 0
        return room < free_memory() and longest < _PACKED_OVERLAP and rows.n_rows < 2**31

    def _device_rows(self) -> QuantisedRows:
        return (
            super()._device_rows() if self._lists is None else self._lists.transposed(self.n_rows)
        )

    def _memory(self) -> int:
        return min(self.memory_budget, free_memory())

    def _block_size(self, n_neighbors: int) -> int:
        if self._lists is None:
            return super()._block_size(n_neighbors)
        fits = self._memory() // kernels.search_bytes(self.n_rows, n_neighbors)
        return min(_IN_FLIGHT, fits)

    def _search_block(
        self, block: QuantisedRows, n_neighbors: int, beta: float, removed: Array | None
    ) -> Neighbours:
        if self._lists is None:
            return super()._search_block(block, n_neighbors, beta, removed)
        return kernels.search(self._lists, self._sizes, block, n_neighbors, beta, removed)

    def rank(self, queries: QuantisedRows, *args: Any, **kwargs: Any) -> Ranking:
        """Find neighbours and let them vote: the best labels of each query."""
        if self._lists is None or queries.n_rows == 0:
            return super().rank(queries, *args, **kwargs)
        with self.on(self.device):
            return self._rank_by_kernels(queries, *args, **kwargs)

    def _rank_by_kernels(
        self,
        queries: QuantisedRows,
        labels: LabelRows,
        n_neighbors: int,
        alpha: float,
        beta: float,
        k: int,
        removed: Array | None = None,
    ) -> Ranking:
        found, placed = self.search(queries, n_neighbors, beta, removed), self.place(labels)
        most = most_labels(labels)

        def best(start: int, stop: int) -> Ranking:
            part = Neighbours(found.ids[start:stop], found.sims[start:stop])
            return kernels.rank(part, placed, most, alpha, k)

        step = self._memory() // kernels.rank_bytes(placed, n_neighbors, most)
        return join_rankings(self._in_blocks(queries.n_rows, step, best))

    def _kth_largest(self, sims: cupy.ndarray, k: int) -> cupy.ndarray:
        place = sims.shape[1] - k
        return cupy.partition(sims, place, axis=1)[:, place, None]

    def _dense(self, block: QuantisedRows, values: cupy.ndarray) -> cupy.ndarray:
        # Column-major, as cuSPARSE wants the dense factor.
        dense = cupy.zeros((block.n_features, block.n_rows), dtype=cupy.float64, order="F")
        number = cupy.arange(block.n_rows, dtype=cupy.int64)
        query = cupy.repeat(number, block.indptr[1:] - block.indptr[:-1])
        dense[block.indices, query] = values
        return dense

    def _times(self, matrix: Any, dense: cupy.ndarray) -> cupy.ndarray:
        return cupy.ascontiguousarray((matrix @ dense).T)

    def _sparse(
        self, indptr: Array, columns: Array, values: Array, shape: tuple[int, int]
    ) -> cusp.csr_matrix:
        # CSR data must be bool or floating in cupyx.
        data = values if values.dtype.kind == "f" else values.astype(cupy.float64)
        columns = columns.astype(cupy.int32, copy=False)
        made = cusp.csr_matrix((data, columns, indptr.astype(cupy.int32)), shape=shape)
        made.has_canonical_format = True
        return made


def free_memory() -> int:
    """Bytes on the current device that arrays may still take."""
    pool = cupy.get_default_memory_pool()
    free = cupy.cuda.Device().mem_info[0] + pool.free_bytes()
    if limit := pool.get_limit():
        free = min(free, limit - pool.used_bytes())
    return int(free * _FREE_SHARE)
