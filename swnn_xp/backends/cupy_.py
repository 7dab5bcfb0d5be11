"""The CuPy backend: CUDA kernels over postings, or sparse products where those do not fit.

`cupy_kernels.py` calls the kernels: search, vote, and for learned rankings the candidates and their
scores. Queries on the device are answered on CuPy's current stream. Queries from the host go in
batches by two threads, each on a stream of its own (`CupyPlacement.overlapped`).

The host waits for the device for three scalars of a matrix on the device (more if its rows are not
canonical); for one per batch that is searched, the number of queries left over, and two more where
memory cuts a batch into blocks; for one more per block in the product path (ties in the last slot);
and once per batch for results that are copied to the host. A launch itself waits for nothing.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import cupy
import cupyx
import cupyx.scipy.sparse as cusp
import numpy as np
from cupy.cuda.memory import OutOfMemoryError

from swnn_xp.backends.cupy_kernels import (
    SearchedRows,
    find_candidates,
    rank_by_votes,
    rank_bytes,
    ranking_bytes,
    score_candidates,
    search_bytes,
    search_rows,
)
from swnn_xp.backends.device import DeviceIndex, ProductIndex, Search
from swnn_xp.backends.index import CandidateScorer, Options
from swnn_xp.backends.placement import DevicePlacement, Item, Result
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.input_kind import is_host
from swnn_xp.rows.on_device import Entries, compressed_entries, dense_entries
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows, longest_row, row_sizes, slice_rows
from swnn_xp.vote import join_rankings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from swnn_kernels.learn.evidence import Evidence


_ENTRY_BYTES = 64  # rows, postings and what it takes to make them, per stored entry
_FREE_SHARE = 0.8  # of the free memory; the rest is for the libraries' own buffers
_MOST_POSTINGS = 2**32 - 1  # what the kernels' pointers can count
_FIRST_BATCH, _BATCH = 512, 4096  # queries; the first batch has the device to itself
_HOST = np.empty((0, 0))


class DeviceLabels(LabelRows):
    """Label rows on a device, which need not be asked how long the longest is."""

    longest: int


class CupyPlacement(DevicePlacement):
    """The memory of a CUDA device, known by its number."""

    out_of_memory = (OutOfMemoryError,)
    n_lanes = 2

    @classmethod
    def find_device(cls, device: Any) -> int:
        """Number of a device; without one the current device."""
        count = cupy.cuda.runtime.getDeviceCount()
        number = cupy.cuda.Device().id if device is None else getattr(device, "id", device)
        if not isinstance(number, int) or not 0 <= number < count:
            raise ValueError(f"device must be the number of a CUDA device below {count}: {device}")
        return number

    @classmethod
    def device_of(cls, array: Any) -> int:
        """Number of the device that an array or a sparse matrix is on."""
        data = array.data if cusp.issparse(array) else array
        return int(data.device.id)

    def entries(self, X: Any, name: str) -> Entries:
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

    def to_device(self, array: Any) -> cupy.ndarray:
        """Copy a NumPy array to the device."""
        with self.current():
            return cupy.asarray(array)

    def sparse(
        self, indptr: Array, columns: Array, values: Array, shape: tuple[int, int]
    ) -> cusp.csr_matrix:
        """Make a CSR matrix of cupyx."""
        # CSR data must be bool or floating in cupyx.
        data = values if values.dtype.kind == "f" else values.astype(cupy.float64)
        columns = columns.astype(cupy.int32, copy=False)
        made = cusp.csr_matrix((data, columns, indptr.astype(cupy.int32)), shape=shape)
        made.has_canonical_format = True
        return made

    def current(self) -> contextlib.AbstractContextManager[Any]:
        """Make the device the current one."""
        return cupy.cuda.Device(self.device)

    def release(self) -> None:
        """Return the memory pool's unused blocks to the device."""
        cupy.get_default_memory_pool().free_all_blocks()

    def labels(self, labels: LabelRows) -> DeviceLabels:
        """Copy label rows to the device."""
        placed = DeviceLabels(*super().labels(labels))
        placed.longest = longest_row(labels)
        return placed

    def as_input_kind(self, X: Any, *arrays: Array) -> tuple[Array, ...]:
        """Return arrays of the library that X belongs to: for the host, copies after one wait."""
        if not is_host(X) or all(map(is_host, arrays)):
            return arrays
        with self.current():
            copies = [cupyx.empty_pinned(array.shape, array.dtype) for array in arrays]
            for array, copy in zip(arrays, copies, strict=True):
                cupy.asnumpy(array, out=copy, blocking=False)
            cupy.cuda.get_current_stream().synchronize()
            return tuple(copy.copy() for copy in copies)  # a caller may keep them for long

    def overlapped(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield what ``work``, which ends on the host, makes of each item, two at a time.

        Two threads take turns, each on a stream of its own: while one waits for the device, or
        prepares rows on the host, the other keeps the device busy. The first item has the device to
        itself, on the caller's stream: what it leaves in the caches of a model is complete before
        another stream reads it.
        """
        lanes, items = _lanes(self.device), iter(items)
        with self.current():
            on_lane = cupy.cuda.get_current_stream() in lanes
        alone = None if on_lane else 1  # all, if the caller is one of the threads
        yield from map(work, itertools.islice(items, alone))

        def on_stream(stream: cupy.cuda.Stream, item: Item) -> Result:
            with self.current(), stream:
                return work(item)

        running: deque[Future[Result]] = deque()
        with ThreadPoolExecutor(self.n_lanes) as threads:
            for lane, item in zip(itertools.cycle(lanes), items):
                running.append(threads.submit(on_stream, lane, item))
                if len(running) == self.n_lanes:
                    yield running.popleft().result()
            for each in running:
                yield each.result()

    def in_batches(
        self, total: int, answer: Callable[[int, int], tuple[Array, ...]]
    ) -> tuple[Array, ...]:
        """Call ``answer(start, stop)`` batch by batch, smaller ones once a batch did not fit."""
        fitting = _BATCH

        def batch(bounds: tuple[int, int]) -> list[tuple[Array, ...]]:
            first, last = bounds

            def part(start: int, stop: int) -> tuple[Array, ...]:
                nonlocal fitting
                try:
                    return self.as_input_kind(_HOST, *answer(first + start, first + stop))
                except self.out_of_memory:
                    fitting = max(1, (stop - start) // 2)
                    raise

            return self.in_blocks(last - first, fitting, part)

        batches = list(itertools.chain(*self.overlapped(batch, _batches(total))))
        return tuple(map(np.concatenate, zip(*batches, strict=True)))


class CupyIndex(DeviceIndex):
    """Training rows on a CUDA device; `build` chooses how they are searched."""

    backend = "cupy"
    placement = CupyPlacement

    @classmethod
    def unusable(cls) -> str | None:
        """Say in one line why there is no device to run on, or None."""
        try:
            return None if cupy.cuda.runtime.getDeviceCount() else "CUDA finds no device"
        except cupy.cuda.runtime.CUDARuntimeError as error:
            return f"CUDA finds no device ({error})"

    @classmethod
    def build(cls, rows: QuantisedRows, placement: Any) -> CupyIndex:
        """Prepare the index that fits the rows and the device."""
        return choose_index(placement.rows(rows), placement)


class CupyKernelIndex(CupyIndex):
    """Rows and their postings, searched by CUDA kernels that also count the votes."""

    def __init__(self, rows: QuantisedRows, placement: CupyPlacement) -> None:
        super().__init__(rows, placement)
        with placement.current():
            self._searched = SearchedRows.of(rows)
        self.exhaustive_queries = 0
        """Queries so far that needed exact similarities of all rows."""

    def _device_rows(self) -> QuantisedRows:
        return self._searched.rows

    def _block_size(self, search: Search) -> int:
        memory = min(search.options.memory_budget, free_memory())
        return memory // search_bytes(self.n_rows, search.n_neighbors)

    def _search_block(self, block: QuantisedRows, search: Search) -> Neighbours:
        n_neighbors, beta, removed, options = search
        memory = min(options.memory_budget, free_memory())
        found, n_exhaustive = search_rows(self._searched, block, n_neighbors, beta, removed, memory)
        self.exhaustive_queries += n_exhaustive
        return found

    def rank_found(
        self, found: Neighbours, labels: Any, alpha: float, k: int, options: Options
    ) -> Ranking:
        """Count the votes of given neighbours: the best labels of each query."""
        n_queries = found.ids.shape[0]
        if n_queries == 0:
            return super().rank_found(found, labels, alpha, k, options)
        with self._placement.current():
            most_labels = labels.longest

            def best(start: int, stop: int) -> Ranking:
                block = Neighbours(found.similarities[start:stop], found.ids[start:stop])
                return rank_by_votes(block, labels, most_labels, alpha, k, memory // 2)

            memory = min(options.memory_budget, free_memory())
            step = memory // 2 // rank_bytes(k)
            return join_rankings(self._placement.in_blocks(n_queries, step, best))

    def rank_candidates(
        self,
        found: Neighbours,
        labels: Any,
        queries: QuantisedRows,
        learned: CandidateScorer,
        evidence: Sequence[Evidence],
        k: int,
        options: Options,
    ) -> Ranking | None:
        """Rank the candidates of given neighbours, and those that sources list."""
        n_queries = found.ids.shape[0]
        if n_queries == 0:
            return None
        with self._placement.current():
            ranker, selection = learned.placed_ranker(self._placement), learned.selection
            most_labels = labels.longest

            def best(start: int, stop: int) -> Ranking:
                block = Neighbours(found.similarities[start:stop], found.ids[start:stop])
                listed = [type(e)(*(part[start:stop] for part in e)) for e in evidence]
                candidates = find_candidates(
                    block, labels, most_labels, selection, listed, memory // 2
                )
                rows = slice_rows(queries, start, stop)
                return score_candidates(candidates, rows, ranker, k)

            memory = min(options.memory_budget, free_memory())
            step = memory // 2 // ranking_bytes(selection, k)
            return join_rankings(self._placement.in_blocks(n_queries, step, best))


class CupyProductIndex(ProductIndex, CupyIndex):
    """Training rows as sparse matrices, searched by cuSPARSE products."""

    def _memory(self, memory_budget: int) -> int:
        return min(memory_budget, free_memory())

    def _kth_largest(self, sims: cupy.ndarray, k: int) -> cupy.ndarray:
        slot = sims.shape[1] - k
        return cupy.partition(sims, slot, axis=1)[:, slot, None]

    def _dense(self, block: QuantisedRows, values: cupy.ndarray) -> cupy.ndarray:
        # Column-major, as cuSPARSE wants the dense factor.
        dense = cupy.zeros((block.n_features, block.n_rows), dtype=values.dtype, order="F")
        number = cupy.arange(block.n_rows, dtype=cupy.int64)
        dense[block.indices, cupy.repeat(number, row_sizes(block))] = values
        return dense

    def _times(self, matrix: Any, dense: cupy.ndarray) -> cupy.ndarray:
        return cupy.ascontiguousarray((matrix @ dense).T)


@functools.cache  # for good: CuPy's pool keeps memory for each stream apart
def _lanes(device: int) -> tuple[cupy.cuda.Stream, ...]:
    """The streams of a device on which batches are answered, in turn."""
    with cupy.cuda.Device(device):
        return tuple(cupy.cuda.Stream(non_blocking=True) for _ in range(CupyPlacement.n_lanes))


def _batches(total: int) -> list[tuple[int, int]]:
    """Bounds of the batches of some queries, the first one small unless it is the only one."""
    first = total if total <= _BATCH else _FIRST_BATCH
    starts = range(first, total, _BATCH)
    return [(0, first), *((start, min(start + _BATCH, total)) for start in starts)]


def choose_index(rows: QuantisedRows, placement: CupyPlacement) -> CupyIndex:
    """Choose the kernels if their postings fit the device, else the products."""
    with placement.current():
        if kernels_fit(rows):
            with contextlib.suppress(OutOfMemoryError):
                return CupyKernelIndex(rows, placement)
        return CupyProductIndex(rows, placement)


def kernels_fit(rows: QuantisedRows) -> bool:
    """True if there is room for postings, and their pointers can count them."""
    n_entries = int(rows.indices.shape[0])
    return (
        _ENTRY_BYTES * (n_entries + rows.n_rows) < free_memory()
        and rows.n_rows < 2**31
        and n_entries <= _MOST_POSTINGS
    )


def free_memory() -> int:
    """Bytes on the current device that arrays may still take."""
    pool = cupy.get_default_memory_pool()
    free = cupy.cuda.Device().mem_info[0] + pool.free_bytes()
    if limit := pool.get_limit():
        free = min(free, limit - pool.used_bytes())
    return int(free * _FREE_SHARE)
