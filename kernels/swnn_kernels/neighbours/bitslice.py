"""Sums over bitmaps for all rows at once, by vertical counters.

A counter of row r is spread over planes: plane p holds bit p of the counters of 512 rows. Adding a
bitmap to all 512 counters takes a few logic operations on 512-bit words, here called lines.

Bitmaps of equal weight are counted in groups first, and only the counts are summed: alone, a bitmap
would be added to the overlaps and, once for every bit of its weight, to the weights; of up to
fifteen bitmaps in a group only the four planes of their count are added. So every bitmap is read
once.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from swnn_kernels._numba import inline, leading_zeros, routine
from swnn_kernels._numba.intrinsics import (
    left,
    load_words,
    prefetch,
    right,
    splat_words,
    store_words,
    trailing_zeros,
)
from swnn_kernels.index.arrays import STEP_ROWS, STEP_WORDS
from swnn_kernels.neighbours.records import (
    BLOCK,
    GROUP,
    GROUP_PLANES,
    PLANES,
    SIGNIFICANT,
    WEIGHT_CLASSES,
    PruneBuffers,
    Query,
)
from swnn_kernels.records import Bool, Int, Int64, Uint8, Uint64

_left1, _left2, _left4 = left[1], left[2], left[4]
_right1, _right2, _right4 = right[1], right[2], right[4]
_EVEN1 = np.uint64(0x5555555555555555)
_EVEN2 = np.uint64(0x3333333333333333)
_EVEN4 = np.uint64(0x0F0F0F0F0F0F0F0F)


Line: TypeAlias = Any
"""512 bits: a plane of the counters of 512 rows."""


class Lines(NamedTuple):
    """The lines of ``words`` at ``at + offsets[first:last]``."""

    words: Uint64
    offsets: Int64
    first: Int
    last: Int
    at: Int


@inline
def add3(a: Line, b: Line, c: Line) -> tuple[Line, Line]:
    """Add three bits: their sum's two."""
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


@inline
def _load(lines: Lines, i: Int) -> Line:
    return load_words(lines.words, lines.offsets[np.uint64(i)] + lines.at)


@inline
def _absorb(
    lines: Lines, one: Line, two: Line, four: Line, carries: Uint64, to_two: Int, to_eight: Int
) -> tuple[Line, Line, Line, Int, Int]:
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
def weighted_sum(prune: PruneBuffers, offsets: Int64, indptr: Int64, at: Int, limit: Int) -> None:
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
def _swap1(a: Line, b: Line, even: Line) -> tuple[Line, Line]:
    moved = (_right1(a) ^ b) & even
    return a ^ _left1(moved), b ^ moved


@inline
def _swap2(a: Line, b: Line, even: Line) -> tuple[Line, Line]:
    moved = (_right2(a) ^ b) & even
    return a ^ _left2(moved), b ^ moved


@inline
def _swap4(a: Line, b: Line, even: Line) -> tuple[Line, Line]:
    moved = (_right4(a) ^ b) & even
    return a ^ _left4(moved), b ^ moved


@inline
def to_bytes(planes: Uint64, p: Int, out: Uint8, at: Int) -> None:
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


@inline
def _class_of(weight: Int) -> Int:
    """Number the weights of few significant bits."""
    shift = max(0, 64 - leading_zeros(weight) - SIGNIFICANT)
    return (weight >> shift) + (shift << (SIGNIFICANT - 1))


@inline
def _weight_of(weight_class: Int) -> Int:
    """Find the weight of a class."""
    shift = max(0, (weight_class >> (SIGNIFICANT - 1)) - 1)
    return (weight_class - (shift << (SIGNIFICANT - 1))) << shift


@inline
def _sort_bitmaps(query: Query, n_frequent: Int) -> Int:
    """Sort the bitmaps by weight: first all features' first ones, then the second ones."""
    prune = query.prune
    ends = prune.class_ends
    ends[:] = 0
    for j in range(2 * n_frequent):
        weight = prune.bitmap_weights[j]
        if weight > 0 or j & 1 == 0:  # a first bitmap counts in the overlap even without weight
            ends[(j & 1) * WEIGHT_CLASSES + _class_of(weight)] += 1
    total = np.int64(0)
    for c in range(2 * WEIGHT_CLASSES):
        count = ends[c]
        ends[c] = total
        total += count
    for j in range(2 * n_frequent):
        weight = prune.bitmap_weights[j]
        if weight > 0 or j & 1 == 0:
            c = (j & 1) * WEIGHT_CLASSES + _class_of(weight)
            offset = prune.bitmap_offsets[j >> 1] + (j & 1) * query.index.bitmap_words
            prune.sorted_bitmaps[ends[c]] = offset
            ends[c] += 1
    return total


@inline
def _visit_groups(prune: PruneBuffers, placing: Bool) -> Int:
    """Count, or place, the summands of overlaps and weights by plane; return how many groups."""
    group, first = np.int64(0), np.int64(0)
    for c in range(2 * WEIGHT_CLASSES):
        weight = _weight_of(c & (WEIGHT_CLASSES - 1))
        end_of_class = prune.class_ends[c]
        while first < end_of_class:
            last = min(first + GROUP, end_of_class)
            prune.group_ends[group] = last
            for p in range(64 - leading_zeros(last - first)):
                line = (group * GROUP_PLANES + p) * STEP_WORDS
                if c < WEIGHT_CLASSES:
                    _add_summand(prune.overlap_indptr, prune.overlap_lines, p, line, placing)
                rest = weight
                while rest:
                    q = p + trailing_zeros(rest)
                    rest &= rest - 1
                    _add_summand(prune.weight_indptr, prune.weight_lines, q, line, placing)
            group += 1
            first = last
    return group


@inline
def _add_summand(indptr: Int64, lines: Int64, plane: Int, line: Int, placing: Bool) -> None:
    """Count a summand of a plane, or place it behind the plane's other summands."""
    if plane >= PLANES:  # no total is so large: such a line is all zeros
        return
    if placing:
        lines[indptr[plane + 1]] = line
        indptr[plane + 1] += 1
    else:
        indptr[plane + 2] += 1


@routine
def plan_groups(query: Query, n_frequent: Int) -> None:
    """Lay out groups and sums from ``bitmap_weights``; sets the number of groups.

    Summands are counted two places up, so that after the prefix sums plane p starts at
    ``indptr[p + 1]``; placing them advances that to the plane's end.
    """
    prune = query.prune
    total = _sort_bitmaps(query, n_frequent)
    bitmaps = prune.sorted_bitmaps
    prune.bitmaps_read[0] += total
    for i in range(GROUP):  # after the last group comes the first, of the next steps
        bitmaps[total + i] = bitmaps[i % max(1, total)] + BLOCK * STEP_WORDS
    prune.overlap_indptr[:] = 0
    prune.weight_indptr[:] = 0
    _visit_groups(prune, False)
    for p in range(PLANES):
        prune.overlap_indptr[p + 2] += prune.overlap_indptr[p + 1]
        prune.weight_indptr[p + 2] += prune.weight_indptr[p + 1]
    prune.n_groups[0] = _visit_groups(prune, True)


@inline
def _next(bits: Uint64, bitmaps: Int64, i: Int, at: Int) -> Line:
    """Words of a bitmap; those of the next group are prefetched."""
    prefetch(bits, bitmaps[np.uint64(i + GROUP)] + at)
    return load_words(bits, bitmaps[np.uint64(i)] + at)


@inline
def _count_group(
    bits: Uint64, offsets: Int64, first: Int, last: Int, at: Int
) -> tuple[Line, Line, Line, Line]:
    """Count up to fifteen bitmaps, into four planes."""
    zero = splat_words(np.uint64(0))
    one, two, four, eight = zero, zero, zero, zero
    i = first
    if last - i >= 3:
        one, two = add3(
            _next(bits, offsets, i, at),
            _next(bits, offsets, i + 1, at),
            _next(bits, offsets, i + 2, at),
        )
        i += 3
    while last - i >= 4:
        one, two1 = add3(one, _next(bits, offsets, i, at), _next(bits, offsets, i + 1, at))
        one, two2 = add3(one, _next(bits, offsets, i + 2, at), _next(bits, offsets, i + 3, at))
        two, four1 = add3(two, two1, two2)
        four, eight = four ^ four1, eight | (four & four1)
        i += 4
    if last - i >= 2:
        one, two1 = add3(one, _next(bits, offsets, i, at), _next(bits, offsets, i + 1, at))
        two, four1 = two ^ two1, two & two1
        four, eight = four ^ four1, eight | (four & four1)
        i += 2
    if i < last:
        single = _next(bits, offsets, i, at)
        one, two1 = one ^ single, one & single
        two, four1 = two ^ two1, two & two1
        four, eight = four ^ four1, eight | (four & four1)
    return one, two, four, eight


@routine
def _count_groups(query: Query, step: Int, n_steps: Int) -> None:
    """Count the bitmaps of every group for some steps.

    A group's bitmaps are read for all steps before the next group's: memory that is read in runs
    comes faster.
    """
    prune, bits = query.prune, query.index.bitmaps
    counts, n_groups = prune.group_counts, prune.n_groups[0]
    first = np.int64(0)
    for group in range(n_groups):
        last = prune.group_ends[group]
        for s in range(n_steps):
            at = (step + s) * STEP_WORDS
            one, two, four, eight = _count_group(bits, prune.sorted_bitmaps, first, last, at)
            to = (s * n_groups + group) * (GROUP_PLANES * STEP_WORDS)
            store_words(counts, to, one)
            store_words(counts, to + STEP_WORDS, two)
            store_words(counts, to + 2 * STEP_WORDS, four)
            store_words(counts, to + 3 * STEP_WORDS, eight)
        first = last


@inline
def counts_at(query: Query, step: Int) -> Int:
    """Find where a step's counts start; every BLOCK steps the next ones are counted."""
    if step % BLOCK == 0:
        n_steps = query.index.row_sizes.size // STEP_ROWS
        _count_groups(query, step, min(BLOCK, n_steps - step))
    return step % BLOCK * query.prune.n_groups[0] * (GROUP_PLANES * STEP_WORDS)
