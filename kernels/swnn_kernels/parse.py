"""Decimal text to float64, correctly rounded, or NaN where another parser must decide.

The method is Eisel and Lemire's ("Number parsing at a gigabyte per second", 2021): the digits, as a
64-bit integer, times a 128-bit approximation of the power of ten decide the rounding almost always.

Rows of text, ``label,label feature:value ...``, to arrays: the lines that are easy.

The parser stops before a line that breaks a rule or needs a decision that is not made here; the
caller gives that one line to the parser that defines the rules. So everything read here must be
right, and no error needs an explanation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from swnn_kernels._numba import allocating_kernel, allocating_routine, inline, kernel
from swnn_kernels.records import ParsedRows

_LOWEST, _HIGHEST = -342, 308
_LOW32 = np.uint64(0xFFFFFFFF)
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_BITS32 = np.uint64(32)
# Bits of the product below the 55 that decide: 53 of the result, one to round, one spare.
_SPARE = np.uint64(0xFFFFFFFFFFFFFFFF >> 55)
_EXACT = np.array([float(10**i) for i in range(23)])


def powers_of_five() -> npt.NDArray[np.uint64]:
    """Top 128 bits of 5**q for q from -342 to 308, high word first.

    Examples
    --------
    >>> table = powers_of_five()
    >>> [hex(word) for word in table[342 + 1].tolist()]
    ['0xa000000000000000', '0x0']
    """
    table = np.empty((_HIGHEST - _LOWEST + 1, 2), np.uint64)
    for q in range(_LOWEST, _HIGHEST + 1):
        if q >= 0:
            power = 5**q
            bits = power << 128 >> power.bit_length()
        else:
            power = 5**-q
            width = (power - 1).bit_length()
            bits = 2 ** (width + 127 if q >= -27 else 2 * width + 128) // power + 1
            bits >>= max(0, bits.bit_length() - 128)
        table[q - _LOWEST] = bits >> 64, bits & 0xFFFFFFFFFFFFFFFF
    return table


@inline
def _product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """High and low word of a * b."""
    a0, a1, b0, b1 = a & _LOW32, a >> _BITS32, b & _LOW32, b >> _BITS32
    low, mid1, mid2 = a0 * b0, a1 * b0, a0 * b1
    carry = (low >> _BITS32) + (mid1 & _LOW32) + (mid2 & _LOW32)
    high = a1 * b1 + (mid1 >> _BITS32) + (mid2 >> _BITS32) + (carry >> _BITS32)
    return high, (carry << _BITS32) | (low & _LOW32)


@inline
def _normalised(digits: np.uint64) -> tuple[np.uint64, int]:
    """Shift the highest bit to the top; return also by how much."""
    shift = 0
    for step in (32, 16, 8, 4, 2, 1):
        if digits >> np.uint64(64 - step) == np.uint64(0):
            digits <<= np.uint64(step)
            shift += step
    return digits, shift


@kernel
def scaled(digits: np.uint64, q: int, powers: npt.NDArray[np.uint64]) -> float:
    """Return digits * 10**q, correctly rounded, or NaN where this method can't decide.

    Subnormal numbers, and those beyond the range of float64, are not decided either.
    """
    if digits == np.uint64(0):
        return 0.0
    if digits <= np.uint64(1 << 53) and -22 <= q <= 22:
        # Both are exact, so one operation rounds once.
        return float(digits) / _EXACT[-q] if q < 0 else float(digits) * _EXACT[q]
    if q < _LOWEST or q > _HIGHEST:
        return math.nan
    digits, shift = _normalised(digits)
    high, low = _product(digits, powers[q - _LOWEST, 0])
    if high & _SPARE == _SPARE:
        more, _ = _product(digits, powers[q - _LOWEST, 1])
        low += more
        if more > low:
            high += np.uint64(1)
    if low == _ONES and not -27 <= q <= 55:
        return math.nan
    upper = high >> np.uint64(63)
    drop = upper + np.uint64(64 - 52 - 3)
    mantissa = high >> drop
    exponent = ((217706 * q) >> 16) + 63 + int(upper) - shift + 1023
    if exponent <= 0 or exponent >= 2046:
        return math.nan
    halfway = low <= np.uint64(1) and -4 <= q <= 23 and mantissa & np.uint64(3) == np.uint64(1)
    if halfway and mantissa << drop == high:
        mantissa -= np.uint64(1)  # a tie: to even
    mantissa = (mantissa + (mantissa & np.uint64(1))) >> np.uint64(1)
    return math.ldexp(float(mantissa), exponent - 1075)


_TAB, _LF, _CR, _SPACE = 9, 10, 13, 32
_PLUS, _COMMA, _MINUS, _DOT, _COLON = 43, 44, 45, 46, 58
_ZERO, _NINE = 48, 57
_UPPER_E, _LOWER_E = 69, 101
_STOP = -1

Bytes = npt.NDArray[np.uint8]
Ids = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Powers = npt.NDArray[np.uint64]


class ParseRules(NamedTuple):
    """Ids are at least `first_feature` (labels: 0) and below the counts, values below `limit`."""

    strict: bool
    first_feature: int
    n_features: int
    n_labels: int
    limit: float


def room_for_rows(n_rows: int, n_bytes: int) -> ParsedRows:
    """Room for rows of a text: a byte makes at most half a label and a quarter of a feature."""
    return ParsedRows(
        np.empty(n_rows, np.int64),
        np.empty(n_bytes // 2 + 1, np.int32),
        np.empty(n_rows, np.int64),
        np.empty(n_bytes // 4 + 1, np.int32),
        np.empty(n_bytes // 4 + 1, np.float64),
    )


@inline
def _is_digit(c: int) -> bool:
    return _ZERO <= c <= _NINE


@inline
def _ends_token(c: int) -> bool:
    return c in (_SPACE, _LF, _TAB, _CR)


@inline
def _scan_id(text: Bytes, p: int) -> tuple[int, int]:
    """Read up to ten digits; return the id or -1, and the position after it."""
    begin, number = p, 0
    while _is_digit(text[p]) and p - begin < 10:
        number = number * 10 + (text[p] - _ZERO)
        p += 1
    if p == begin or _is_digit(text[p]):
        return -1, p
    return number, p


@inline
def _scan_exponent(text: Bytes, p: int) -> tuple[int, int]:
    """Read what follows the ``e``; the position is -1 if that is not one to four digits."""
    negative = text[p] == _MINUS
    if negative or text[p] == _PLUS:
        p += 1
    begin, number = p, 0
    while _is_digit(text[p]) and p - begin < 4:
        number = number * 10 + (text[p] - _ZERO)
        p += 1
    if p == begin or _is_digit(text[p]):
        return 0, _STOP
    return (-number if negative else number), p


@inline
def _scan_value(text: Bytes, p: int, strict: bool, powers: Powers) -> tuple[float, int]:
    """Read a number of up to 19 significant digits; return NaN for anything else."""
    negative = text[p] == _MINUS
    if negative or (text[p] == _PLUS and not strict):
        p += 1
    mantissa = np.uint64(0)
    n_digits, n_fraction, in_fraction = 0, 0, False
    while True:
        c = text[p]
        if _is_digit(c):
            if mantissa >= np.uint64(10**18):
                return math.nan, p
            mantissa = mantissa * np.uint64(10) + np.uint64(c - _ZERO)
            n_digits += 1
            n_fraction += in_fraction
        elif c == _DOT and not in_fraction:
            in_fraction = True
        else:
            break
        p += 1
    if n_digits == 0:
        return math.nan, p
    exponent = -n_fraction
    if c in (_LOWER_E, _UPPER_E):
        written, p = _scan_exponent(text, p + 1)
        if p == _STOP:
            return math.nan, p
        exponent += written
    value = scaled(mantissa, exponent, powers)
    return (-value if negative else value), p


@inline
def _sort(keys: npt.NDArray[np.int64]) -> None:
    """Heap sort in place; np.sort would double the time to compile this module."""
    n = len(keys)
    for round_ in range(n // 2 + n):
        # The first n // 2 rounds make the heap, the others move its top to the end.
        root, size = n // 2 - 1 - round_, n
        if root < 0:
            root, size = 0, n + n // 2 - 1 - round_
            keys[0], keys[size] = keys[size], keys[0]
        key = keys[root]
        while 2 * root + 1 < size:
            child = 2 * root + 1
            if child + 1 < size and keys[child + 1] > keys[child]:
                child += 1
            if keys[child] <= key:
                break
            keys[root] = keys[child]
            root = child
        keys[root] = key


@allocating_routine
def _sorted_labels(labels: Ids, begin: int, end: int) -> int:
    """Sort a row's labels and drop repeats; return where they end now."""
    keys = labels[begin:end].astype(np.int64)
    _sort(keys)
    kept = begin
    for key in keys:
        if kept == begin or key != labels[kept - 1]:
            labels[kept] = key
            kept += 1
    return kept


@allocating_routine
def _sorted_features(features: Ids, values: Floats, begin: int, end: int) -> int:
    """Sort a row by feature and sum repeats as they stand; return where it ends now."""
    # Feature and position in one key: no two are equal, so any sort keeps the order.
    keys = np.empty(end - begin, np.int64)
    for i in range(end - begin):
        keys[i] = (np.int64(features[begin + i]) << 32) | i
    _sort(keys)
    unsorted = values[begin:end].copy()
    kept = begin
    for key in keys:
        feature, value = key >> 32, unsorted[key & 0xFFFFFFFF]
        if kept > begin and feature == features[kept - 1]:
            values[kept - 1] += value
        else:
            features[kept] = feature
            values[kept] = value
            kept += 1
    return kept


@allocating_routine
def _scan_labels(
    text: Bytes, p: int, rules: ParseRules, labels: Ids, begin: int
) -> tuple[int, int]:
    """Read the labels of a line; return the position after them, and where they end."""
    line, end, ascending = p, begin, True
    if not _is_digit(text[p]):
        return p, end
    while True:
        label, q = _scan_id(text, p)
        c = text[q]
        if c == _COLON and p == line and label >= 0:
            return (_STOP if rules.strict else line), begin
        if not 0 <= label < rules.n_labels:
            return _STOP, begin
        if end > begin and label <= labels[end - 1]:
            ascending = False
        labels[end] = label
        end += 1
        p = q + 1
        if c != _COMMA:
            break
    if not _ends_token(c):
        return _STOP, begin
    if not ascending:
        kept = _sorted_labels(labels, begin, end)
        if rules.strict and kept < end:
            return _STOP, begin
        end = kept
    return q, end


@inline
def _scan_pair(text: Bytes, p: int, rules: ParseRules, powers: Powers) -> tuple[int, float, int]:
    """Read ``feature:value``; the position after it is -1 if it breaks a rule."""
    number, p = _scan_id(text, p)
    feature = number - rules.first_feature
    if number < 0 or not 0 <= feature < rules.n_features or text[p] != _COLON:
        return feature, 0.0, _STOP
    value, p = _scan_value(text, p + 1, rules.strict, powers)
    if not abs(value) < rules.limit or not _ends_token(text[p]):
        return feature, value, _STOP
    return feature, value, p


@allocating_routine
def _scan_features(
    text: Bytes, p: int, rules: ParseRules, powers: Powers, out: ParsedRows, begin: int
) -> tuple[int, int]:
    """Read the rest of a line; return the position after it, and where its features end."""
    features, values = out.features, out.values
    end, last, ascending = begin, -1, True
    while text[p] != _LF:
        c = text[p]
        if rules.strict:
            if c != _SPACE:
                return _STOP, begin
            p += 1
            if text[p] == _LF and end == begin:
                break
        elif c in (_SPACE, _TAB):
            p += 1
            continue
        elif c == _CR and text[p + 1] == _LF:
            p += 1
            break
        feature, value, p = _scan_pair(text, p, rules, powers)
        if p == _STOP:
            return _STOP, begin
        ascending &= feature > last
        features[end] = feature
        values[end] = value
        last = feature
        end += 1
    if not ascending:
        if rules.strict:
            return _STOP, begin
        end = _sorted_features(features, values, begin, end)
        for i in range(begin, end):
            if not abs(values[i]) < rules.limit:
                return _STOP, begin
    return p + 1, end


@allocating_kernel
def parse_rows(
    text: Bytes,
    span: tuple[int, int],
    max_rows: int,
    rules: ParseRules,
    powers: Powers,
    out: ParsedRows,
) -> tuple[int, int, int, int]:
    """Parse up to `max_rows` lines of ``text[begin:end]``, each of which ends in LF.

    Parameters
    ----------
    text : uint8 array
        ``text[end - 1]`` must be LF (or begin == end).
    span : pair of int
        Begin and end.
    max_rows : int
        Most rows to read.
    rules : ParseRules
        What is a valid line.
    powers : uint64 array
        From ``decimal.powers_of_five``.
    out : ParsedRows
        From `room_for_rows`, for at least `max_rows` rows and ``end - begin`` bytes.

    Returns
    -------
    rows, position, n_labels, n_features
        Rows read, where the next line begins, and how much was written. Fewer rows than `max_rows`
        and a position before the end: the line there is for another parser.
    """
    begin, end = span
    rows, label_end, feature_end = 0, 0, 0
    while rows < max_rows and begin < end:
        p, next_label = _scan_labels(text, begin, rules, out.labels, label_end)
        if p == _STOP:
            break
        p, next_feature = _scan_features(text, p, rules, powers, out, feature_end)
        if p == _STOP:
            break
        out.label_counts[rows] = next_label - label_end
        out.feature_counts[rows] = next_feature - feature_end
        label_end, feature_end, begin = next_label, next_feature, p
        rows += 1
    return rows, begin, label_end, feature_end
