"""The fence around numba: nothing outside this package imports numba or llvmlite.

The kernels need four things from numba: decorators that compile a function, records of arrays as
arguments, bit casts and counts of scalars, and vectors. There are two sets of tools for them:

- `full` uses numba's private interfaces (a compiler subclass, LLVM intrinsics, struct views).
- `plain` has the same names and uses public interfaces only. It has no vectors, so only the
  exhaustive search runs on it; the answers are the same bits.

A numba release may change a private interface. Therefore the tools of `full` are imported and
tested on first use; if anything fails, or SWNN_PLAIN_NUMBA is 1, `plain` takes their place. If
that fails too, or numba can't be imported, importing this package raises ImportError.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import Any


def _failure(tools: str) -> str | None:
    """Import and test a set of tools; return what went wrong, or None."""
    try:
        import_module(f"{__name__}.check_{tools}").check()
    except Exception as error:  # a changed internal may raise anything
        return _one_line(error)
    return None


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _choose() -> tuple[Any, str | None]:
    """Choose the tools; return the module, and why it is the plain one."""
    try:
        import_module("numba")
    except Exception as error:  # a broken installation may raise anything
        raise ImportError(f"numba cannot be imported: {_one_line(error)}") from error
    asked = os.environ.get("SWNN_PLAIN_NUMBA", "0") not in ("", "0")
    reason = "SWNN_PLAIN_NUMBA is set" if asked else _failure("full")
    if reason is None:
        return import_module(f"{__name__}.full"), None
    if (failure := _failure("plain")) is not None:
        raise ImportError(f"numba cannot compile the kernels: {failure}")
    if not asked:
        warnings.warn(
            f"numba's internals have changed ({reason}): the kernels run without them, slower",
            RuntimeWarning,
            stacklevel=3,
        )
    return import_module(f"{__name__}.plain"), reason


_tools, WHY_PLAIN = _choose()
IS_FULL = WHY_PLAIN is None
"""Whether there are vectors, and with them the pruned search."""

kernel = _tools.kernel
allocating_kernel = _tools.allocating_kernel
routine = _tools.routine
allocating_routine = _tools.allocating_routine
inline = _tools.inline
struct_view = _tools.struct_view
table = _tools.table
float_bits = _tools.float_bits
bits_to_float = _tools.bits_to_float
half_to_float = _tools.half_to_float
leading_zeros = _tools.leading_zeros
prefetch = _tools.prefetch
