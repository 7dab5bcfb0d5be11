"""Building the index's arrays from rows, and rows from the arrays again.

Rare features keep inverted lists. A frequent feature becomes a bitmap over all rows, and its
values are kept row by row (forward), where the kernel completes single rows.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.cache import inline, kernel

WORD_ROWS = 64
BLOCK_ROWS = 512
"""Bitmaps are padded to whole blocks: the kernel never looks at less than a cache line."""


@kernel
def count_features(indices, counts):  # type: ignore[no-untyped-def]
    """Count the rows of every feature."""
    for p in range(indices.size):
        counts[indices[p]] += 1


@kernel
def fill(indptr, indices, units, local, starts, rows, list_units, ends, ids, forward, bits):  # type: ignore[no-untyped-def]
    """Put every non-zero where it belongs; ``local`` is a frequent feature's number, else -1.

    ``starts`` comes shifted by one place (list f starts at ``starts[f + 1]``) and is advanced to
    the usual form.
    """
    at = np.int64(0)
    for row in range(indptr.size - 1):
        for p in range(indptr[row], indptr[row + 1]):
            number = local[indices[p]]
            if number < 0:
                place = starts[indices[p] + 1]
                starts[indices[p] + 1] = place + 1
                rows[place] = row
                list_units[place] = units[p]
            else:
                ids[at] = number
                forward[at] = units[p]
                bits[number, row // WORD_ROWS] |= np.uint64(1) << np.uint64(row % WORD_ROWS)
                at += 1
        ends[row + 1] = at


@inline
def _lowest_bit(word):  # type: ignore[no-untyped-def]
    """Count the trailing zeros of a word that is not 0."""
    number = 0
    while not word & np.uint64(0xFF):
        word >>= np.uint64(8)
        number += 8
    while not word & np.uint64(1):
        word >>= np.uint64(1)
        number += 1
    return number


@kernel
def invert(starts, rows, units, numbers, ends, forward, bits, cursor, full, out_rows, out_units):  # type: ignore[no-untyped-def]
    """Inverted lists of all features; ``numbers`` is local number of each feature or -1."""
    at = np.int64(0)
    for feature in range(starts.size - 1):
        full[feature] = at
        for p in range(starts[feature], starts[feature + 1]):
            out_rows[at] = rows[p]
            out_units[at] = units[p]
            at += 1
        if numbers[feature] < 0:
            continue
        for w in range(bits.shape[1]):
            word = bits[numbers[feature], w]
            while word:
                row = w * WORD_ROWS + _lowest_bit(word)
                word &= word - np.uint64(1)
                out_rows[at] = row
                out_units[at] = forward[ends[row] + cursor[row]]
                cursor[row] += 1
                at += 1
    full[starts.size - 1] = at


@kernel
def transpose(starts, rows, units, indptr, cursor, indices, out_units):  # type: ignore[no-untyped-def]
    """Inverted lists back to rows with ascending features."""
    for feature in range(starts.size - 1):
        for p in range(starts[feature], starts[feature + 1]):
            place = indptr[rows[p]] + cursor[rows[p]]
            cursor[rows[p]] += 1
            indices[place] = feature
            out_units[place] = units[p]


@kernel
def find(feature, row, starts, rows, units, number, ends, ids, forward):  # type: ignore[no-untyped-def]
    """Find the unit of a feature in a row by binary search, and whether it is there."""
    if number < 0:
        low, high = starts[feature], starts[feature + 1]
        while low < high:
            middle = (low + high) // 2
            if rows[middle] < row:
                low = middle + 1
            else:
                high = middle
        return low < starts[feature + 1] and rows[low] == row, units[low % max(1, units.size)]
    low, high = ends[row], ends[row + 1]
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low < ends[row + 1] and ids[low] == number, forward[low % max(1, forward.size)]
