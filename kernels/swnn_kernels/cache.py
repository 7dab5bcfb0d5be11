"""How kernels are compiled: once, without the GIL, and kept on disk between processes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from swnn_kernels.parts import PartCompiler

# No kernel allocates, so none counts references: with counting, every inlined call that is handed
# an array would pay for atomic increments.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "_nrt": False,
}


@cache
def _package_stamp() -> bytes:
    """Digest of every source file of this package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on first use and cache it on disk where a directory can be written.

    numba notices only changes of the file that holds the function, not of the files it calls
    into; here any change of the package makes the cached code stale. Where no cache directory can
    be written, the function is compiled in every process instead of failing.

    Parameters
    ----------
    function : callable
        A function numba can compile.

    Returns
    -------
    numba dispatcher
    """
    try:
        compiled = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # numba: "no locator available": nothing is writable
        return numba.njit(**_OPTIONS)(function)
    cache_file: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = _package_stamp()
    return compiled


def routine(function: Callable[..., Any]) -> Any:
    """Compile a function that only other kernels call, without inlining it at every call."""
    return numba.njit(pipeline_class=PartCompiler, **_OPTIONS)(function)


def inline(function: Callable[..., Any]) -> Any:
    """Compile a small function that only other kernels call; LLVM inlines it there."""
    return numba.njit(pipeline_class=PartCompiler, forceinline=True, **_OPTIONS)(function)
