"""Bitmaps of equal weight are counted together first; then only their counts are summed.

By itself, a bitmap would be added to the overlaps and, once for every bit of its weight, to the
weights. Of up to fifteen bitmaps in a group only the four planes of their count are. And every
bitmap is read once.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.bitslice import PLANES, STEP_ROWS, STEP_WORDS, add3
from swnn_kernels.cache import inline, routine
from swnn_kernels.vectors import (
    leading_zeros,
    load_words,
    prefetch,
    splat_words,
    store_words,
    trailing_zeros,
)

SIGNIFICANT = 4
"""Most bits of a weight."""
GROUP = 15
"""Most bitmaps counted together."""
BLOCK = 8
"""Steps whose groups are counted at a time."""
GROUP_PLANES = 4
KINDS = PLANES << (SIGNIFICANT - 1)
"""A power of two, more than there are weights of so few significant bits."""


def groups_of(longest: int) -> int:
    """Most groups of a query's bitmaps: each weight's last one may be small."""
    return 2 * longest // GROUP + 2 * KINDS


@inline
def _kind_of(weight):  # type: ignore[no-untyped-def]
    """Number the weights of few significant bits."""
    shift = max(0, 64 - leading_zeros(weight) - SIGNIFICANT)
    return (weight >> shift) + (shift << (SIGNIFICANT - 1))


@inline
def _weight_of(kind):  # type: ignore[no-untyped-def]
    """Find the weight of a number."""
    shift = max(0, (kind >> (SIGNIFICANT - 1)) - 1)
    return (kind - (shift << (SIGNIFICANT - 1))) << shift


@inline
def _sort_bitmaps(split, scratch, n_frequent):  # type: ignore[no-untyped-def]
    """Sort the bitmaps by weight: first all features' first ones, then the second ones."""
    ends = scratch.kind_ends
    ends[:] = 0
    for j in range(2 * n_frequent):
        weight = scratch.weights[j]
        if weight > 0 or j & 1 == 0:  # a first bitmap counts in the overlap even without weight
            ends[(j & 1) * KINDS + _kind_of(weight)] += 1
    total = np.int64(0)
    for kind in range(2 * KINDS):
        count = ends[kind]
        ends[kind] = total
        total += count
    for j in range(2 * n_frequent):
        weight = scratch.weights[j]
        if weight > 0 or j & 1 == 0:
            kind = (j & 1) * KINDS + _kind_of(weight)
            scratch.bitmaps[ends[kind]] = scratch.offsets[j >> 1] + (j & 1) * split.words
            ends[kind] += 1
    return total


@inline
def _visit_groups(scratch, placing):  # type: ignore[no-untyped-def]
    """Count, or place, the summands of overlaps and weights by plane; the number of groups."""
    group, first = np.int64(0), np.int64(0)
    for kind in range(2 * KINDS):
        weight = _weight_of(kind & (KINDS - 1))
        last_of_kind = scratch.kind_ends[kind]
        while first < last_of_kind:
            last = min(first + GROUP, last_of_kind)
            scratch.group_ends[group] = last
            for p in range(64 - leading_zeros(last - first)):
                slot = (group * GROUP_PLANES + p) * STEP_WORDS
                if kind < KINDS:
                    _summand(scratch.count_starts, scratch.count_offsets, p, slot, placing)
                rest = weight
                while rest:
                    q = p + trailing_zeros(rest)
                    rest &= rest - 1
                    _summand(scratch.weight_starts, scratch.weight_offsets, q, slot, placing)
            group += 1
            first = last
    return group


@inline
def _summand(starts, offsets, plane, slot, placing):  # type: ignore[no-untyped-def]
    """Count a summand of a plane, or place it where the plane's summands have come to."""
    if plane >= PLANES:  # no total is so large: such a line is all zeros
        return
    if placing:
        offsets[starts[plane + 1]] = slot
        starts[plane + 1] += 1
    else:
        starts[plane + 2] += 1


@routine
def plan_groups(split, scratch, n_frequent):  # type: ignore[no-untyped-def]
    """Lay out groups and sums from ``scratch.weights``; sets the number of groups.

    Summands are counted two places up, so that after the prefix sums plane p starts at
    ``starts[p + 1]``; placing them advances that to the plane's end.
    """
    total = _sort_bitmaps(split, scratch, n_frequent)
    scratch.tally[1] += total
    for i in range(GROUP):  # after the last group comes the first, of the next steps
        scratch.bitmaps[total + i] = scratch.bitmaps[i % max(1, total)] + BLOCK * STEP_WORDS
    scratch.count_starts[:] = 0
    scratch.weight_starts[:] = 0
    _visit_groups(scratch, False)
    for p in range(PLANES):
        scratch.count_starts[p + 2] += scratch.count_starts[p + 1]
        scratch.weight_starts[p + 2] += scratch.weight_starts[p + 1]
    scratch.n_groups[0] = _visit_groups(scratch, True)


@inline
def _next(bits, bitmaps, i, at):  # type: ignore[no-untyped-def]
    """Words of a bitmap; those of the next group are asked for."""
    prefetch(bits, bitmaps[np.uint64(i + GROUP)] + at)
    return load_words(bits, bitmaps[np.uint64(i)] + at)


@inline
def _count_group(bits, offsets, first, last, at, counts, to):  # type: ignore[no-untyped-def]
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
    store_words(counts, to, one)
    store_words(counts, to + STEP_WORDS, two)
    store_words(counts, to + 2 * STEP_WORDS, four)
    store_words(counts, to + 3 * STEP_WORDS, eight)


@routine
def _count_groups(split, scratch, step, n_steps):  # type: ignore[no-untyped-def]
    """Count the bitmaps of every group for some steps.

    A group's bitmaps are read for all steps before the next group's: memory that is read in runs
    comes faster.
    """
    n_groups = scratch.n_groups[0]
    first = np.int64(0)
    for group in range(n_groups):
        last = scratch.group_ends[group]
        for s in range(n_steps):
            _count_group(
                split.bits, scratch.bitmaps, first, last, (step + s) * STEP_WORDS, scratch.counts,
                (s * n_groups + group) * (GROUP_PLANES * STEP_WORDS),
            )  # fmt: skip
        first = last


@inline
def counts_at(split, scratch, step):  # type: ignore[no-untyped-def]
    """Find where a step's counts start; every BLOCK steps the next ones are counted."""
    if step % BLOCK == 0:
        n_steps = split.row_sizes.size // STEP_ROWS
        _count_groups(split, scratch, step, min(BLOCK, n_steps - step))
    return step % BLOCK * scratch.n_groups[0] * (GROUP_PLANES * STEP_WORDS)
