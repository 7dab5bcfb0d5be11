"""The fence around numba: nothing outside this package imports numba or llvmlite.

The kernels need four things from numba: decorators that compile a function, records of arrays as
arguments (`struct_views`), bit casts and counts of scalars, and vectors (`intrinsics`). For these
the package uses private interfaces of numba: a compiler subclass, LLVM intrinsics, struct views.
Where numba can't be imported, or a release lacks one of these interfaces, importing this package
raises ImportError with one line that says so.
"""

from __future__ import annotations

try:
    from swnn_kernels._numba.decorators import (
        allocating_kernel,
        allocating_routine,
        inline,
        kernel,
        routine,
    )
    from swnn_kernels._numba.intrinsics import (
        bits_to_float,
        float_bits,
        half_to_float,
        leading_zeros,
        prefetch,
    )
    from swnn_kernels._numba.struct_views import Table, struct_view, table
except Exception as error:  # a broken installation, or a changed interface, may raise anything
    _line = " ".join(f"{type(error).__name__}: {error}".split())
    raise ImportError(f"numba cannot be used: {_line}") from error

__all__ = [
    "Table",
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
