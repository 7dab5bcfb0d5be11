"""Forward rows: a row's frequent values, the largest first.

A row that turns out not to matter is left after its largest values: what the rest can add is known.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.cache import inline
from swnn_kernels.pairs import unit_of
from swnn_kernels.vectors import leading_zeros

SIZES = 128
"""Buckets of sizes, four to an octave: within one, the order does not matter."""


@inline
def _size_of(unit):  # type: ignore[no-untyped-def]
    """Bucket of a unit's size: its width and its two bits below the first."""
    size = abs(np.int64(unit))
    width = 64 - leading_zeros(size)
    return 4 * width + ((size << 2 >> max(0, width - 1)) & 3)


@inline
def sort_row(pairs, lows, first, last, held_pairs, held_lows, histogram):  # type: ignore[no-untyped-def]
    """Sort a forward row by falling size; the other arrays are room to work in."""
    histogram[:] = 0
    for p in range(first, last):
        held_pairs[p - first] = pairs[p]
        held_lows[p - first] = lows[p]
        histogram[_size_of(unit_of(pairs[p], lows[p]))] += 1
    place = first
    for size in range(SIZES - 1, -1, -1):
        count = histogram[size]
        histogram[size] = place
        place += count
    for i in range(last - first):
        size = _size_of(unit_of(held_pairs[i], held_lows[i]))
        pairs[histogram[size]] = held_pairs[i]
        lows[histogram[size]] = held_lows[i]
        histogram[size] += 1
