"""The decorators of compiled functions, and the cache of their machine code on disk.

`kernel` is for entry points, `inline` and `routine` for the functions they call.

numba optimises every function together with all it calls and makes machine code of it, so in a
chain of seven calls the last function is optimised seven times. Here the functions that only
kernels call are link-only: translated to LLVM's representation and no further. The kernel links
each of them once and optimises the whole.

numba also notices only changes of the file that holds a function, not of the files it calls into.
Here the stamp of every cached function is a digest of the whole package, so any change makes all
cached code stale. The stamp is a private attribute of numba's: where it cannot be set, nothing is
cached.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import (
    codegen,
    compiler,
    compiler_machinery,
    event,
    typed_passes,
    types,
    untyped_passes,
)  # fmt: skip

_ALLOCATING: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}
# Most kernels do not allocate, so they need not count references: with counting, every inlined call
# with an array argument would pay for atomic increments.
_OPTIONS: dict[str, Any] = _ALLOCATING | {"_nrt": False}

# numba's own classes are not annotated.
_Library: Any = codegen.JITCodeLibrary
_PassManager: Any = compiler_machinery.PassManager
_Compiler: Any = compiler.CompilerBase
_unliteral: Any = types.unliteral

_STEPS = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)

KERNELS: list[Any] = []
"""All entry points, in the order of their definition."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile an entry point on first use and keep it on disk; it must not allocate."""
    return _cached(function, _OPTIONS)


def allocating_kernel(function: Callable[..., Any]) -> Any:
    """Compile an entry point that allocates arrays, with numba's run-time for their memory."""
    return _cached(function, _ALLOCATING)


def routine(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call, without inlining it at every call."""
    # Unless it is set, a function inherits the option of the inline function that calls it.
    options = _OPTIONS | {"forceinline": False}
    return _without_literals(numba.njit(pipeline_class=_LinkOnlyCompiler, **options)(function))


def allocating_routine(function: Callable[..., Any]) -> Any:
    """Compile a function that allocates arrays and that only allocating kernels call."""
    return numba.njit(pipeline_class=_RoutineCompiler, **_ALLOCATING)(function)


def inline(function: Callable[..., Any]) -> Any:
    """Compile a small function that only kernels call; LLVM inlines it there."""
    make: Any = numba.njit(pipeline_class=_LinkOnlyCompiler, forceinline=True, **_OPTIONS)
    return _without_literals(make(function))


def _without_literals(compiled: Any) -> Any:
    """Let constants as arguments have the types of variables.

    numba compiles a function again for every literal that it is called with, and even for the first
    values of variables; where functions are inlined, LLVM folds constants all the same.
    """
    choose = compiled.get_call_template

    def choose_typed(args: Any, kws: Any) -> Any:
        return choose(
            tuple(map(_unliteral, args)),
            {name: _unliteral(value) for name, value in kws.items()},
        )

    compiled.get_call_template = choose_typed
    return compiled


class _Codegen:
    """Code generator of a link-only library, which is never loaded: there is nothing to set."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: only errors and Python objects need an environment; no kernel has these."""


class _LinkOnlyLibrary(_Library):  # type: ignore[misc]
    """A function alone: the kernel's library links what it calls and optimises the whole."""

    @property
    def codegen(self) -> Any:
        return _Codegen(self._codegen)

    @property
    def linked(self) -> list[Any]:
        """The libraries of the functions that this one calls."""
        return list(self._linking_libraries)

    def finalize(self) -> None:
        """Do nothing but mark the library as complete."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class _KernelLibrary(_Library):  # type: ignore[misc]
    """A kernel with all functions that it calls, and those that these call, each linked once."""

    def finalize(self) -> None:
        """Link what the called functions call, too, before all is optimised."""
        every = self._linking_libraries
        for library in every:  # which grows
            every += [called for called in getattr(library, "linked", ()) if called not in every]
        super().finalize()


def _use_library(state: Any, library_class: Any) -> Any:
    state.library = library_class(state.targetctx.codegen(), state.func_id.func_qualname)
    return state.library


def _few_passes(state: Any) -> list[Any]:
    """Get numba's passes without those for what no kernel has.

    That is closures, contexts, array expressions, dynamic raises, parallel loops and literals.
    """
    manager = _PassManager("swnn")
    for step in _STEPS:
        manager.add_pass(step, step.__name__)
    manager.finalize()
    return [manager]


class _LinkOnlyCompiler(_Compiler):  # type: ignore[misc]
    """Few passes into a link-only library; Python cannot call the result."""

    def define_pipelines(self) -> list[Any]:
        """Get the passes for compiled code."""
        _use_library(self.state, _LinkOnlyLibrary)
        self.state.flags.no_cpython_wrapper = True
        self.state.flags.no_cfunc_wrapper = True
        return _few_passes(self.state)


class _RoutineCompiler(_Compiler):  # type: ignore[misc]
    """Few passes into a library of its own, with all that it calls."""

    def define_pipelines(self) -> list[Any]:
        """Get the passes for compiled code."""
        _use_library(self.state, _KernelLibrary)
        return _few_passes(self.state)


class _KernelCompiler(_Compiler):  # type: ignore[misc]
    """Few passes, announced: they run only where the cache has no code of a kernel."""

    def define_pipelines(self) -> list[Any]:
        """Get the passes for compiled code."""
        _use_library(self.state, _KernelLibrary).enable_object_caching()
        self.state.flags.no_cfunc_wrapper = True
        return _few_passes(self.state)

    def compile_extra(self, function: Any) -> Any:
        """Compile a kernel and all it calls, without collecting garbage.

        Compiling makes millions of objects that stay: looking for cycles among them again and again
        takes a sixth of the time.
        """
        _announce()
        _show_on_terminal(f"  compiling: {function.__name__.strip('_').replace('_', ' ')} ...")
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(function)
        finally:
            if was_enabled:
                gc.enable()
            _show_on_terminal("")


@cache
def _announce() -> None:
    """Tell, once in a process, why a first call takes so long."""
    if sys.stderr is not None:
        when = "once for this machine, about 15 s"
        if cache_folder() is None:
            when = "again, about 15 s: no cache folder is writable (NUMBA_CACHE_DIR can name one)"
        print(f"swnn: compiling {when} ...", file=sys.stderr)


def _show_on_terminal(text: str) -> None:
    """Replace the line that shows what is being compiled."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


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


def _cached(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a function on first use and cache it on disk where a folder can be written.

    Where none can be, the function is compiled in every process instead of failing.
    """
    make: Any = numba.njit
    try:
        compiled = make(cache=True, pipeline_class=_KernelCompiler, **options)(function)
        is_cached = _stamped(compiled, options)
    except RuntimeError:  # numba: "no locator available": nothing is writable
        is_cached = False
    if not is_cached:
        compiled = make(pipeline_class=_KernelCompiler, **options)(function)
    KERNELS.append(compiled)
    return compiled


def cache_folder() -> Path | None:
    """Folder under which the compiled kernels are kept; None if some are not kept on disk."""
    folders = [compiled.stats.cache_path for compiled in KERNELS]
    if not folders or None in folders:
        return None
    return Path(os.path.commonpath(folders))


@contextmanager
def compile_timer() -> Iterator[Callable[[], float]]:
    """Give a function that returns the seconds that were spent on compiling since.

    Examples
    --------
    >>> with compile_timer() as seconds:
    ...     pass
    >>> seconds()
    0.0
    """
    listener = event.TimingListener()  # type: ignore[no-untyped-call]
    with event.install_listener("numba:compile", listener):
        yield lambda: float(listener.duration) if listener.done else 0.0
