"""The self-test of the full tools: a tiny kernel with all that touches numba's internals.

It is cached on disk like every kernel, and so is compiled once for a release of numba. What crashes
instead of raising an error is beyond a test in the same process.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels._numba import full
from swnn_kernels._numba.scalars import prefetch, trailing_zeros
from swnn_kernels._numba.vectors import at_least, load_floats, splat, store_floats
from swnn_kernels.records import Float32


class _Probe(NamedTuple):
    values: Float32
    shift: int
    factor: float


_open_probe = full.struct_view(_Probe)


@full.inline
def _lowered(value):  # type: ignore[no-untyped-def]
    return full.half_to_float(np.uint16(full.float_bits(value) >> np.uint32(16)))


@full.routine
def _scale(probe, out):  # type: ignore[no-untyped-def]
    factor = splat(np.float32(probe.factor))
    shift = splat(np.float32(probe.shift))
    store_floats(out, 0, load_floats(probe.values, 0) * factor + shift)


@full.kernel
def _run(probe_table, out):  # type: ignore[no-untyped-def]
    probe = _open_probe(probe_table)
    prefetch(probe.values, 0)
    _scale(probe, out)
    mask = np.int64(at_least(load_floats(out, 0), splat(_lowered(out[5]))))
    return 100 * trailing_zeros(mask) + full.leading_zeros(mask)


def check() -> None:
    """Raise unless the kernel gives the right numbers."""
    out = np.zeros(8, np.float32)
    probe = _Probe(np.arange(8, dtype=np.float32), 5, 0.5)
    # Lanes 5, 6 and 7 reach lane 5.
    if _run(full.table(probe), out) != 556 or out.tolist() != [5 + i / 2 for i in range(8)]:
        raise RuntimeError("a kernel with struct views and vectors returned wrong numbers")
