"""The torch backend: sparse CSR products on any torch device that has float64 and int64."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import torch

from swnn_xp.backends.device import ProductIndex, Search
from swnn_xp.backends.placement import DevicePlacement
from swnn_xp.rows.canonical import require_matrix
from swnn_xp.rows.on_device import Entries, compressed_entries, dense_entries, require_real
from swnn_xp.rows.records import Array, QuantisedRows, row_sizes

_BLOCK = 64  # wider blocks gain nothing: the dense factor falls out of the caches
_CACHED_PAIRS = 1 << 20  # (query, row) pairs whose temporaries the CPU's allocator uses again


class TorchPlacement(DevicePlacement):
    """The memory of a torch device."""

    out_of_memory = (torch.OutOfMemoryError,)

    @classmethod
    def find_device(cls, device: Any) -> torch.device:
        """Device by name; without a name the CPU, as in torch itself."""
        try:
            found = torch.device("cpu" if device is None else device)
        except RuntimeError as error:
            raise ValueError(f"device {device!r}: {str(error).splitlines()[0]}") from error
        _require_float64(found)  # before CUDA is asked for its current device: there may be none
        if found.type == "cuda" and found.index is None:
            found = torch.device("cuda", torch.cuda.current_device())
        return found

    @classmethod
    def device_of(cls, array: Any) -> torch.device:
        """Device of a tensor."""
        return array.device

    def entries(self, X: torch.Tensor, name: str) -> Entries:
        """Entries of a dense, sparse CSR or sparse COO tensor (others are turned into COO)."""
        _require_float64(X.device)
        if X.layout == torch.strided:
            return dense_entries(X, name)
        require_matrix(X.ndim, name)
        shape = int(X.shape[0]), int(X.shape[1])
        if X.layout == torch.sparse_csr:
            return compressed_entries(X.crow_indices(), X.col_indices(), X.values(), shape, name)
        coo = X.to_sparse_coo()
        # Not `indices()`, which wants a coalesced tensor: repeats are summed later.
        (at_row, columns), values = coo._indices(), coo._values()
        require_real(values, name)
        order = torch.argsort(at_row, stable=True)
        return Entries(at_row[order], columns[order], values[order].double(), shape)

    def to_device(self, array: Any) -> torch.Tensor:
        """Copy a NumPy array to the device."""
        return torch.tensor(array, device=self.device)

    def sparse(
        self, indptr: Array, columns: Array, values: Array, shape: tuple[int, int]
    ) -> torch.Tensor:
        """Make a sparse CSR tensor."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            return torch.sparse_csr_tensor(
                indptr.to(columns.dtype),
                columns,
                values,
                size=shape,
                device=self.device,
                check_invariants=False,
            )

    def release(self) -> None:
        """Return cached memory to the device."""
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


class TorchIndex(ProductIndex):
    """Training rows as sparse CSR tensors."""

    backend = "torch"
    placement = TorchPlacement

    def _block_size(self, search: Search) -> int:
        return min(_BLOCK, super()._block_size(search))

    def _most_rows(self) -> int:
        on_cpu = self._row_sizes.device.type == "cpu"
        return _CACHED_PAIRS // _BLOCK if on_cpu else super()._most_rows()

    def _kth_largest(self, sims: torch.Tensor, k: int) -> torch.Tensor:
        return torch.topk(sims, k, dim=1, sorted=True).values[:, -1:]

    def _dense(self, block: QuantisedRows, values: torch.Tensor) -> torch.Tensor:
        device = values.device
        dense = torch.zeros((block.n_features, block.n_rows), dtype=values.dtype, device=device)
        number = torch.arange(block.n_rows, device=device)
        query = torch.repeat_interleave(number, row_sizes(block))
        features = torch.as_tensor(block.indices, dtype=torch.int64)
        dense[features, query] = values
        return dense

    def _times(self, matrix: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        return (matrix @ dense).T.contiguous()


@functools.cache  # a device is tried once: every query may ask
def _require_float64(device: torch.device) -> None:
    try:
        torch.zeros(1, dtype=torch.float64, device=device)
    except (TypeError, RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device {device} can't be used: it has no float64 or is not there "
            f"({str(error).splitlines()[0]})"
        ) from error
