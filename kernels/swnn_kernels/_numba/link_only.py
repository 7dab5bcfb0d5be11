"""Link-only compilation: functions that only kernels call are optimised once, in the kernel.

numba optimises every function together with all it calls and makes machine code of it, so in a
chain of seven calls the last function is optimised seven times. A link-only function is translated
to LLVM's representation and no further; the kernel that links it in optimises the whole.
"""

from __future__ import annotations

from typing import Any

from numba.core import codegen, compiler

# numba's own classes are not annotated.
_Library: Any = codegen.JITCodeLibrary
_Passes: Any = compiler.DefaultPassBuilder
_Compiler: Any = compiler.CompilerBase


class _Codegen:
    """Code generator of a link-only library, which is never loaded: there is nothing to set."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: only errors and Python objects need an environment; no kernel has these."""


class _LinkOnlyLibrary(_Library):  # type: ignore[misc]
    @property
    def codegen(self) -> Any:
        return _Codegen(self._codegen)

    def _optimize_final_module(self) -> None:
        """Do nothing: the kernel's library optimises the whole."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class LinkOnlyCompiler(_Compiler):  # type: ignore[misc]
    """numba's usual passes into a link-only library; Python cannot call the result."""

    def define_pipelines(self) -> list[Any]:
        """Get numba's passes for compiled code."""
        target = self.state.targetctx.codegen()
        self.state.library = _LinkOnlyLibrary(target, self.state.func_id.func_qualname)
        self.state.flags.no_cpython_wrapper = True
        self.state.flags.no_cfunc_wrapper = True
        return [_Passes.define_nopython_pipeline(self.state)]
