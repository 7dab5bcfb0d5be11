"""How a forward row stores an entry: key and high bits of a value in one word, low 8 bits apart.

A key is twice the id of the frequent feature, plus 1 if the value is large (see levels.py).

A rescoring reads the words first, one stream of memory, and most rows fall below the threshold
before the low bits of their values are needed.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import inline
from swnn_kernels.index.arrays import KEY_BITS, LO_BITS

LARGEST_LO = 2**LO_BITS - 1
"""Largest value of the low bits."""
_KEY = np.int64(2**KEY_BITS - 1)


@inline
def pack_hi(frequent_id, is_large, quantised):  # type: ignore[no-untyped-def]
    """Join the key and the high bits, 16 with sign, of a value below 2**23."""
    key = 2 * np.int64(frequent_id) + np.int64(is_large)
    return np.uint32((((np.int64(quantised) >> LO_BITS) & _KEY) << KEY_BITS) | key)


@inline
def lo_of(quantised):  # type: ignore[no-untyped-def]
    """Low 8 bits of a value."""
    return np.uint8(np.int64(quantised) & LARGEST_LO)


@inline
def key_of(hi):  # type: ignore[no-untyped-def]
    """Key of an entry: frequent id and level."""
    return np.int64(hi) & _KEY


@inline
def frequent_id_of(hi):  # type: ignore[no-untyped-def]
    """Frequent id of an entry."""
    return key_of(hi) >> 1


@inline
def high_bits_of(hi):  # type: ignore[no-untyped-def]
    """High bits of an entry's value."""
    return np.int64(np.int32(hi)) >> KEY_BITS


@inline
def quantised_of(hi, lo):  # type: ignore[no-untyped-def]
    """The whole value of an entry."""
    return (high_bits_of(hi) << LO_BITS) + np.int64(lo)
