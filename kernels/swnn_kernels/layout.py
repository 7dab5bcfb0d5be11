"""Building the index's arrays from rows, and rows from the arrays again.

Rare features keep inverted lists. A frequent feature becomes a bitmap over all rows, or two (see
levels.py), and its values are kept row by row (forward), where the kernel completes single rows.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.bitslice import bit_of, word_of
from swnn_kernels.cache import inline, kernel
from swnn_kernels.forward import sort_row
from swnn_kernels.levels import bucket_of_ratio, ratio_of
from swnn_kernels.pairs import low_of, make_pair, number_of, unit_of
from swnn_kernels.vectors import half_to_float


@kernel
def count_features(indices, counts):  # type: ignore[no-untyped-def]
    """Count the rows of every feature."""
    for p in range(indices.size):
        counts[indices[p]] += 1


@kernel
def fill(  # type: ignore[no-untyped-def]
    indptr, indices, units, local, scales, small, last, firsts, starts, rows, list_units, ends,
    pairs, lows, bits, held_pairs, held_lows, histogram,
):  # fmt: skip
    """Put every non-zero where it belongs; ``local`` is a frequent feature's number, else -1.

    ``starts`` comes shifted by one place (list f starts at ``starts[f + 1]``) and is advanced to
    the usual form.
    """
    at = np.int64(0)
    for row in range(indptr.size - 1):
        scale = half_to_float(scales[row])
        for p in range(indptr[row], indptr[row + 1]):
            number = np.int64(local[indices[p]])
            ratio = ratio_of(units[p], scale)
            if number < 0 or bucket_of_ratio(units[p], ratio) > last[number]:
                place = starts[indices[p] + 1]
                starts[indices[p] + 1] = place + 1
                rows[place] = row
                list_units[place] = units[p]
            else:
                is_large = ratio > small[number]
                pairs[at] = make_pair(number, is_large, units[p])
                lows[at] = low_of(units[p])
                bits[firsts[number], word_of(row)] |= np.uint64(1) << bit_of(row)
                if is_large:
                    bits[firsts[number] + 1, word_of(row)] |= np.uint64(1) << bit_of(row)
                at += 1
        ends[row + 1] = at
        sort_row(pairs, lows, ends[row], at, held_pairs, held_lows, histogram)


@kernel
def count_forward(pairs, counts):  # type: ignore[no-untyped-def]
    """Count the forward values of every frequent feature."""
    for p in range(pairs.size):
        counts[number_of(pairs[p])] += 1


@inline
def _copy(rows, units, p, out_rows, out_units, at):  # type: ignore[no-untyped-def]
    out_rows[at] = rows[p]
    out_units[at] = units[p]


@kernel
def invert(  # type: ignore[no-untyped-def]
    starts, rows, units, local, frequent, ends, pairs, lows, full, cursor, ahead, out_rows,
    out_units,
):  # fmt: skip
    """Inverted lists of all features at ``full``, from lists and forward rows.

    For each frequent feature ``cursor`` and ``ahead`` hold where its list and its output stand.
    """
    for feature in range(starts.size - 1):
        number = local[feature]
        if number >= 0:
            cursor[number] = starts[feature]
            ahead[number] = full[feature]
        for p in range(starts[feature], starts[feature + 1] if number < 0 else 0):
            _copy(rows, units, p, out_rows, out_units, full[feature] + p - starts[feature])
    for row in range(ends.size - 1):
        for p in range(ends[row], ends[row + 1]):
            number = number_of(pairs[p])
            end = starts[frequent[number] + 1]
            while cursor[number] < end and rows[cursor[number]] < row:
                _copy(rows, units, cursor[number], out_rows, out_units, ahead[number])
                cursor[number] += 1
                ahead[number] += 1
            out_rows[ahead[number]] = row
            out_units[ahead[number]] = unit_of(pairs[p], lows[p])
            ahead[number] += 1
    for number in range(frequent.size):
        for p in range(cursor[number], starts[frequent[number] + 1]):
            _copy(rows, units, p, out_rows, out_units, ahead[number] + p - cursor[number])


@kernel
def transpose(starts, rows, units, indptr, cursor, indices, out_units):  # type: ignore[no-untyped-def]
    """Inverted lists back to rows with ascending features."""
    for feature in range(starts.size - 1):
        for p in range(starts[feature], starts[feature + 1]):
            place = indptr[rows[p]] + cursor[rows[p]]
            cursor[rows[p]] += 1
            indices[place] = feature
            out_units[place] = units[p]


@inline
def _first_at_least(values, low, high, value):  # type: ignore[no-untyped-def]
    """Where in ascending values[low:high] a value is or would be."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find(feature, row, starts, rows, units, number, ends, pairs, lows):  # type: ignore[no-untyped-def]
    """Find the unit of a feature in a row by binary search, and whether it is there."""
    p = _first_at_least(rows, starts[feature], starts[feature + 1], row)
    if p < starts[feature + 1] and rows[p] == row:
        return True, np.int64(units[p])
    if number >= 0:
        for p in range(ends[row], ends[row + 1]):
            if number_of(pairs[p]) == number:
                return True, unit_of(pairs[p], lows[p])
    return False, np.int64(0)
