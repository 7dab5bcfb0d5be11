"""Decimal text to float64, correctly rounded, or NaN where another parser must decide.

The method is Eisel and Lemire's ("Number parsing at a gigabyte per second", 2021): the digits, as a
64-bit integer, times a 128-bit approximation of the power of ten decide the rounding almost always.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from swnn_kernels._numba import inline, kernel

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
