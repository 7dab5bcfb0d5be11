"""How the forward rows are stored: key and upper part of a unit in one word, the rest apart.

A key is twice the number of the frequent feature, plus 1 if the value is large (see levels.py).

A completion reads only the words, one stream of memory, and most rows turn out not to matter
before their lower parts are needed.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.cache import inline

LOW_BITS = 8
LARGEST_LOW = 2**LOW_BITS - 1
"""Largest lower part."""
_KEY = np.int64(0xFFFF)


@inline
def high_of(unit):  # type: ignore[no-untyped-def]
    """Upper part of a unit below 2**23: 16 bits with sign."""
    return np.int64(unit) >> LOW_BITS


@inline
def make_pair(number, is_large, unit):  # type: ignore[no-untyped-def]
    """Join the number of a frequent feature, its level and the upper part of a unit."""
    key = 2 * np.int64(number) + np.int64(is_large)
    return np.uint32(((high_of(unit) & _KEY) << 16) | key)


@inline
def low_of(unit):  # type: ignore[no-untyped-def]
    """Lower part of a unit."""
    return np.uint8(np.int64(unit) & LARGEST_LOW)


@inline
def key_of(pair):  # type: ignore[no-untyped-def]
    """Key: number and level."""
    return np.int64(pair) & _KEY


@inline
def number_of(pair):  # type: ignore[no-untyped-def]
    """Number of the frequent feature."""
    return key_of(pair) >> 1


@inline
def high_in(pair):  # type: ignore[no-untyped-def]
    """Upper part of the unit."""
    return np.int64(np.int32(pair)) >> 16


@inline
def unit_of(pair, low):  # type: ignore[no-untyped-def]
    """Put a unit together again."""
    return (high_in(pair) << LOW_BITS) + np.int64(low)
