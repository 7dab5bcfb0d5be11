"""The self-test of the plain tools: a tiny kernel with a record, a routine and bit casts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels._numba import plain
from swnn_kernels.records import Float32


class _Probe(NamedTuple):
    values: Float32
    shift: int
    factor: float


_open_probe = plain.struct_view(_Probe)


@plain.routine
def _scaled(value, factor):  # type: ignore[no-untyped-def]
    return plain.half_to_float(np.uint16(plain.float_bits(value) >> np.uint32(16))) * factor


@plain.kernel
def _run(probe_table, out):  # type: ignore[no-untyped-def]
    probe = _open_probe(probe_table)
    for i in range(probe.values.size):
        out[i] = _scaled(probe.values[i], probe.factor) + probe.shift
    return plain.leading_zeros(np.int64(1))


def check() -> None:
    """Raise unless the kernel gives the right numbers."""
    out = np.empty(3)
    probe = _Probe(np.array([1.0, 2.0, 3.0], np.float32), 5, 0.5)
    if _run(plain.table(probe), out) != 63 or out.tolist() != [5.5, 6.0, 6.5]:
        raise RuntimeError("a kernel compiled by plain numba returned wrong numbers")
