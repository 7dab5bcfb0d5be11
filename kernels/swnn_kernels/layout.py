"""Building the index's arrays from rows, and rows from the arrays again.

Rare features keep inverted lists. A frequent feature becomes a bitmap over all rows, and its
values are kept row by row (forward), where the kernel completes single rows.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.bitslice import STEP_ROWS, STEP_WORDS, bit_of, word_of
from swnn_kernels.cache import inline, kernel
from swnn_kernels.fixed_point import COS_SCALE
from swnn_kernels.pairs import low_of, make_pair, number_of, unit_of
from swnn_kernels.vectors import float_bits, half_to_float

_SLOPES = (1.0, 2.2)  # of the two lines, in mean squares
_EVERY_EIGHTH = np.uint64(0x0101010101010101)


@kernel
def count_features(indices, counts):  # type: ignore[no-untyped-def]
    """Count the rows of every feature."""
    for p in range(indices.size):
        counts[indices[p]] += 1


@kernel
def fill(indptr, indices, units, local, starts, rows, list_units, ends, pairs, lows, bits):  # type: ignore[no-untyped-def]
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
                pairs[at] = make_pair(number, units[p])
                lows[at] = low_of(units[p])
                bits[number, word_of(row)] |= np.uint64(1) << bit_of(row)
                at += 1
        ends[row + 1] = at


@inline
def _lowest_byte(word):  # type: ignore[no-untyped-def]
    """Count the bytes of zeros below the lowest bit of a word that is not 0."""
    number = 0
    while not word & np.uint64(0xFF):
        word >>= np.uint64(8)
        number += 1
    return number


@kernel
def invert(  # type: ignore[no-untyped-def]
    starts, rows, units, numbers, ends, pairs, lows, bits, cursor, full, out_rows, out_units
):
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
        for step in range(bits.shape[1] // STEP_WORDS):
            for eighth in range(8):  # bit 0 of every byte holds the first 64 rows of a step
                for w in range(STEP_WORDS):
                    word = bits[numbers[feature], step * STEP_WORDS + w]
                    word = (word >> np.uint64(eighth)) & _EVERY_EIGHTH
                    while word:
                        row = step * 512 + eighth * 64 + w * 8 + _lowest_byte(word)
                        word &= word - np.uint64(1)
                        out_rows[at] = row
                        place = ends[row] + cursor[row]
                        out_units[at] = unit_of(pairs[place], lows[place])
                        cursor[row] += 1
                        at += 1
    full[starts.size - 1] = at


@inline
def _upper_half(value):  # type: ignore[no-untyped-def]
    """Round a float up to the upper 16 bits of a float32."""
    raised = np.float32(value * (1.0 + 2.0**-20))
    return np.uint16((float_bits(raised) + np.uint32(0xFFFF)) >> np.uint32(16))


@kernel
def _bound_lines(ends, pairs, lows, slope, which, lines):  # type: ignore[no-untyped-def]
    for row in range(ends.size - 1):
        total = np.int64(0)
        for p in range(ends[row], ends[row + 1]):
            unit = unit_of(pairs[p], lows[p])
            total += unit * unit
        size = max(1, ends[row + 1] - ends[row])
        lines[which + 1, row] = _upper_half(slope * total * COS_SCALE / size)
        b = np.float64(half_to_float(lines[which + 1, row]))
        a = 0.0
        for p in range(ends[row], ends[row + 1]):
            unit = unit_of(pairs[p], lows[p])
            a += max(0.0, unit * unit * COS_SCALE - b)
        lines[which, row] = _upper_half(a)
        lines[4, row] = _upper_half(total * COS_SCALE)


def bound_lines(ends: np.ndarray, pairs: np.ndarray, lows: np.ndarray) -> np.ndarray:
    """Make a bound of every row on the mass of any c of its frequent values.

    Any c of the squares x sum up to at most the sum of max(0, x - b), plus b * c, for any b. So
    mass(c) <= min(a + b * c, a' + b' * c, cap); the five numbers are rounded up to 16 bits.
    """
    n_rows = ends.size - 1
    lines = np.zeros((5, -(-n_rows // STEP_ROWS) * STEP_ROWS), dtype=np.uint16)
    for which, slope in enumerate(_SLOPES):
        _bound_lines(ends, pairs, lows, slope, 2 * which, lines)
    return lines


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
def find(feature, row, starts, rows, units, number, ends, pairs, lows):  # type: ignore[no-untyped-def]
    """Find the unit of a feature in a row by binary search, and whether it is there."""
    if number < 0:
        low, high = starts[feature], starts[feature + 1]
        while low < high:
            middle = (low + high) // 2
            if rows[middle] < row:
                low = middle + 1
            else:
                high = middle
        there = low < starts[feature + 1] and rows[low] == row
        return there, np.int64(units[low]) if there else np.int64(0)
    low, high = ends[row], ends[row + 1]
    while low < high:
        middle = (low + high) // 2
        if number_of(pairs[middle]) < number:
            low = middle + 1
        else:
            high = middle
    there = low < ends[row + 1] and number_of(pairs[low]) == number
    return there, unit_of(pairs[low], lows[low]) if there else np.int64(0)
