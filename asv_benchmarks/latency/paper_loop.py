"""The paper's loop in C, compiled when it is first needed."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from swnn_kernels import HybridIndex

_POSTING = np.dtype([("row", np.int32), ("value", np.float32)])
_UNIT = np.float32(2.0**-23)


def _compile() -> ctypes.CDLL:
    source = Path(__file__).with_name("paper_loop.c")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "paper_loop.so"
        subprocess.run(
            ["gcc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-lm"], check=True
        )
        return ctypes.CDLL(str(library))


class PaperLoop:
    """Searches an index one query at a time, as the paper does."""

    def __init__(self, index: HybridIndex, n_neighbors: int, beta: float) -> None:
        self._lists = index.postings
        self._postings = np.empty(index.nnz, dtype=_POSTING)
        self._postings["row"] = self._lists.rows
        self._postings["value"] = self._lists.quantised * _UNIT
        self._row_sizes = index.stored.row_sizes
        self.rows = np.empty(n_neighbors, dtype=np.int32)
        self.sims = np.empty(n_neighbors, dtype=np.float32)
        self._pairs = np.empty(2 * index.n_rows, dtype=np.int32)
        self._heap = np.empty(2 * n_neighbors, dtype=np.int32)
        self._function = _compile().paper_search
        arrays = self._lists.indptr, self._postings, self._row_sizes
        self._index = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        self._index.append(ctypes.c_int64(index.n_rows))  # type: ignore[arg-type]
        buffers = self._pairs, self.rows, self.sims, self._heap
        self._rest = [n_neighbors, ctypes.c_double(beta)]
        self._rest += [ctypes.c_void_p(array.ctypes.data) for array in buffers]

    def search(self, indices: np.ndarray, values: np.ndarray) -> int:
        """Find the best rows of a query of int32 features and float32 unit values."""
        return self._function(
            *self._index,
            ctypes.c_void_p(indices.ctypes.data),
            ctypes.c_void_p(values.ctypes.data),
            ctypes.c_int64(indices.size),
            *self._rest,
        )
