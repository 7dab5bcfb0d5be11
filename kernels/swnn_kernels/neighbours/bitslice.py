"""Sums over bitmaps for all rows at once, by vertical counters.

A counter of row r is spread over planes: plane p holds bit p of the counters of 512 rows. Adding a
bitmap to all 512 counters takes a few logic operations on 512-bit words, here called lines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swnn_kernels._numba import inline
from swnn_kernels._numba.vectors import left, load_words, right, splat_words, store_words
from swnn_kernels.index.geometry import STEP_WORDS

_left1, _left2, _left4 = left[1], left[2], left[4]
_right1, _right2, _right4 = right[1], right[2], right[4]
_EVEN1 = np.uint64(0x5555555555555555)
_EVEN2 = np.uint64(0x3333333333333333)
_EVEN4 = np.uint64(0x0F0F0F0F0F0F0F0F)


class Lines(NamedTuple):
    """The lines of ``words`` at ``at + offsets[first:last]``."""

    words: Any
    offsets: Any
    first: Any
    last: Any
    at: Any


@inline
def add3(a, b, c):  # type: ignore[no-untyped-def]
    """Add three bits: their sum's two."""
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


@inline
def _load(lines, i):  # type: ignore[no-untyped-def]
    return load_words(lines.words, lines.offsets[np.uint64(i)] + lines.at)


@inline
def _absorb(lines, one, two, four, carries, to_two, to_eight):  # type: ignore[no-untyped-def]
    """Add lines of weight 1 to a counter (one, two, four); carries of 2 and of 8 are queued.

    Full adders take three bits of a weight and give one of it and one of twice the weight, so every
    adder makes one line less to add.
    """
    i, last = lines.first, lines.last
    while i + 8 <= last:
        one, two1 = add3(one, _load(lines, i), _load(lines, i + 1))
        one, two2 = add3(one, _load(lines, i + 2), _load(lines, i + 3))
        two, four1 = add3(two, two1, two2)
        one, two1 = add3(one, _load(lines, i + 4), _load(lines, i + 5))
        one, two2 = add3(one, _load(lines, i + 6), _load(lines, i + 7))
        two, four2 = add3(two, two1, two2)
        four, eight = add3(four, four1, four2)
        store_words(carries, to_eight, eight)
        to_eight += STEP_WORDS
        i += 8
    while i + 2 <= last:
        one, carry = add3(one, _load(lines, i), _load(lines, i + 1))
        store_words(carries, to_two, carry)
        to_two += STEP_WORDS
        i += 2
    if i < last:
        single = _load(lines, i)
        store_words(carries, to_two, one & single)
        to_two += STEP_WORDS
        one = one ^ single
    return one, two, four, to_two, to_eight


@inline
def weighted_sum(prune, offsets, indptr, at, limit):  # type: ignore[no-untyped-def]
    """Sum lines of ``group_counts`` with weights into counters of 512 rows, ``planes``.

    The lines at ``at + offsets[indptr[p]:indptr[p + 1]]`` weigh 2**p; ``limit`` planes hold the
    total. ``carries`` holds the queues of four planes in turn.
    """
    carries, carry_lines, planes = prune.carries, prune.carry_lines, prune.planes
    room = carry_lines.size * STEP_WORDS
    zero = splat_words(np.uint64(0))
    one, two, four = zero, zero, zero
    # Where the queues of planes p, p + 1, p + 2 and p + 3 start and how far they are filled.
    base0, base1, base2, base3 = 0, room, 2 * room, 3 * room
    end0, end1, end2 = base0, base1, base2
    for p in range(limit):
        end3 = base3
        queued = Lines(carries, carry_lines, 0, (end0 - base0) // STEP_WORDS, base0)
        one, two, four, end1, end3 = _absorb(queued, one, two, four, carries, end1, end3)
        counted = Lines(prune.group_counts, offsets, indptr[p], indptr[p + 1], at)
        one, two, four, end1, end3 = _absorb(counted, one, two, four, carries, end1, end3)
        store_words(planes, p * STEP_WORDS, one)
        one, two, four = two, four, zero
        base0, base1, base2, base3 = base1, base2, base3, base0
        end0, end1, end2 = end1, end2, end3
    for p in range(limit, (limit + 7) & ~7):
        store_words(planes, p * STEP_WORDS, zero)


@inline
def _swap1(a, b, even):  # type: ignore[no-untyped-def]
    moved = (_right1(a) ^ b) & even
    return a ^ _left1(moved), b ^ moved


@inline
def _swap2(a, b, even):  # type: ignore[no-untyped-def]
    moved = (_right2(a) ^ b) & even
    return a ^ _left2(moved), b ^ moved


@inline
def _swap4(a, b, even):  # type: ignore[no-untyped-def]
    moved = (_right4(a) ^ b) & even
    return a ^ _left4(moved), b ^ moved


@inline
def to_bytes(planes, p, out, at):  # type: ignore[no-untyped-def]
    """Eight planes from p on become one byte for each of 512 rows at ``out[at:]``."""
    even1, even2, even4 = splat_words(_EVEN1), splat_words(_EVEN2), splat_words(_EVEN4)
    base = p * STEP_WORDS
    a, b = _swap1(load_words(planes, base), load_words(planes, base + 8), even1)
    c, d = _swap1(load_words(planes, base + 16), load_words(planes, base + 24), even1)
    e, f = _swap1(load_words(planes, base + 32), load_words(planes, base + 40), even1)
    g, h = _swap1(load_words(planes, base + 48), load_words(planes, base + 56), even1)
    a, c = _swap2(a, c, even2)
    b, d = _swap2(b, d, even2)
    e, g = _swap2(e, g, even2)
    f, h = _swap2(f, h, even2)
    a, e = _swap4(a, e, even4)
    b, f = _swap4(b, f, even4)
    c, g = _swap4(c, g, even4)
    d, h = _swap4(d, h, even4)
    store_words(out, at, a)
    store_words(out, at + 64, b)
    store_words(out, at + 128, c)
    store_words(out, at + 192, d)
    store_words(out, at + 256, e)
    store_words(out, at + 320, f)
    store_words(out, at + 384, g)
    store_words(out, at + 448, h)
