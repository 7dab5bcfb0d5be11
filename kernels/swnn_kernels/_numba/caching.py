"""Compiled kernels are kept on disk between processes, and never used after a change of sources.

numba notices only changes of the file that holds a function, not of the files it calls into. Here
the stamp of every cached function is a digest of the whole package, so any change makes all cached
code stale. The stamp is a private attribute of numba's: where it cannot be set, nothing is cached.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

KERNELS: list[Any] = []
"""All entry points, in the order of their definition."""


@cache
def _package_stamp() -> bytes:
    """Digest of every Python source of the package, in all its folders."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.digest()


def _stamped(compiled: Any, options: dict[str, Any]) -> bool:
    """Stamp a dispatcher's cache with the package and the options; False if it has no stamp."""
    cache_file: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if not hasattr(cache_file, "_source_stamp"):
        return False
    # Two wrappers of one function with different options would share an entry.
    cache_file._source_stamp = _package_stamp() + repr(sorted(options.items())).encode()
    return True


def cached(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a function on first use and cache it on disk where a folder can be written.

    Where none can be, the function is compiled in every process instead of failing.
    """
    try:
        compiled: Any = numba.njit(cache=True, **options)(function)
        keeps = _stamped(compiled, options)
    except RuntimeError:  # numba: "no locator available": nothing is writable
        keeps = False
    if not keeps:
        compiled = numba.njit(**options)(function)
    KERNELS.append(compiled)
    return compiled


def cache_folder() -> Path | None:
    """Folder under which the compiled kernels are kept; None if some are not kept on disk."""
    folders = [compiled.stats.cache_path for compiled in KERNELS]
    if not folders or None in folders:
        return None
    return Path(os.path.commonpath(folders))


def is_kept(compiled: Any) -> bool | None:
    """Whether the disk holds a kernel's code for this CPU; None where that can't be told.

    numba writes its list of files before the file itself, which may still be one of older sources:
    only a file that is as new as the list counts.
    """
    try:
        files, cpu = compiled._cache._cache_file, compiled.targetctx.codegen().magic_tuple()
        names = [name for key, name in files._load_index().items() if key[1] == cpu]
        if not names:
            return False
        listed = os.stat(files._index_path).st_mtime_ns
        return any(os.stat(files._data_path(name)).st_mtime_ns >= listed for name in names)
    except FileNotFoundError:
        return False
    except Exception:  # private interfaces: whatever a release has changed
        return None
