"""Arrays with their dtypes as annotations: what the fields of a record hold in compiled code."""

from __future__ import annotations

from typing import Annotated

import numpy as np

Uint8 = Annotated[np.ndarray, np.uint8]
Uint16 = Annotated[np.ndarray, np.uint16]
Uint32 = Annotated[np.ndarray, np.uint32]
Uint64 = Annotated[np.ndarray, np.uint64]
Int16 = Annotated[np.ndarray, np.int16]
Int32 = Annotated[np.ndarray, np.int32]
Int64 = Annotated[np.ndarray, np.int64]
Float32 = Annotated[np.ndarray, np.float32]
Float64 = Annotated[np.ndarray, np.float64]


def aligned_zeros(size: int, dtype: type) -> np.ndarray:
    """Zeros that start on a cache line, so that a vector of 64 bytes lies in one."""
    item = np.dtype(dtype).itemsize
    memory: np.ndarray = np.zeros(size + 64 // item, dtype=dtype)
    skip = (-memory.ctypes.data % 64) // item
    return memory[skip : skip + size]


def frozen(array: np.ndarray) -> np.ndarray:
    """Make a read-only plain view: one type for numba, whether built here or mapped from a file."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view
