"""The tools with numba's private interfaces: the same names as in `plain`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from swnn_kernels._numba.caching import cached
from swnn_kernels._numba.link_only import LinkOnlyCompiler
from swnn_kernels._numba.scalars import (
    bits_to_float,
    float_bits,
    half_to_float,
    leading_zeros,
    prefetch,
)
from swnn_kernels._numba.struct_views import struct_view, table

__all__ = [
    "allocating_kernel",
    "allocating_routine",
    "bits_to_float",
    "float_bits",
    "half_to_float",
    "inline",
    "kernel",
    "leading_zeros",
    "prefetch",
    "routine",
    "struct_view",
    "table",
]

_ALLOCATING: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}
# Most kernels do not allocate, so they need not count references: with counting, every inlined call
# with an array argument would pay for atomic increments.
_OPTIONS: dict[str, Any] = _ALLOCATING | {"_nrt": False}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile an entry point on first use and keep it on disk; it must not allocate."""
    return cached(function, _OPTIONS)


def allocating_kernel(function: Callable[..., Any]) -> Any:
    """Compile an entry point that allocates arrays, with numba's run-time for their memory."""
    return cached(function, _ALLOCATING)


def routine(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call, without inlining it at every call."""
    # Unless it is set, a function inherits the option of the inline function that calls it.
    options = _OPTIONS | {"forceinline": False}
    return numba.njit(pipeline_class=LinkOnlyCompiler, **options)(function)


def allocating_routine(function: Callable[..., Any]) -> Any:
    """Compile a function that allocates arrays and that only allocating kernels call."""
    return numba.njit(**_ALLOCATING)(function)


def inline(function: Callable[..., Any]) -> Any:
    """Compile a small function that only kernels call; LLVM inlines it there."""
    return numba.njit(pipeline_class=LinkOnlyCompiler, forceinline=True, **_OPTIONS)(function)
