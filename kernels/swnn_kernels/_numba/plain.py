"""The tools with numba's public interfaces only: the same names as in `full`, slower code.

Records are passed as they are, named tuples of arrays, which numba knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from swnn_kernels._numba.caching import cached
from swnn_kernels._numba.fields import check_arrays

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile an entry point on first use and keep it on disk."""
    return cached(function, _OPTIONS)


def routine(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call."""
    return numba.njit(**_OPTIONS)(function)


allocating_kernel = kernel
allocating_routine = routine
inline = routine


@inline
def _same(record):  # type: ignore[no-untyped-def]
    return record


def struct_view(record: Any) -> Any:
    """Make a function for kernels that turns a table into a record: here it is one."""
    return _same


def table(record: Any) -> Any:
    """Check a record's arrays and pass it on."""
    check_arrays(record)
    return record


@inline
def float_bits(value):  # type: ignore[no-untyped-def]
    """Bits of a float32; of positive numbers they rise with the number."""
    return np.float32(value).view(np.uint32)


@inline
def bits_to_float(value):  # type: ignore[no-untyped-def]
    """Make the float32 of these bits."""
    return np.uint32(value).view(np.float32)


@inline
def half_to_float(value):  # type: ignore[no-untyped-def]
    """Make the float32 whose upper half a uint16 is."""
    return np.uint32(np.uint32(value) << np.uint32(16)).view(np.float32)


@inline
def leading_zeros(value):  # type: ignore[no-untyped-def]
    """Count the zeros before the first bit of an int64 that is not negative."""
    count = np.int64(64)
    while value > 0:
        value >>= 1
        count -= 1
    return count


@inline
def prefetch(array, index):  # type: ignore[no-untyped-def]
    """Nothing: numba has no public way to ask for a cache line."""
