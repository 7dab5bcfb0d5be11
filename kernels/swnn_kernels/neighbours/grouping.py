"""Bitmaps of equal weight are counted together first; then only their counts are summed.

By itself, a bitmap would be added to the overlaps and, once for every bit of its weight, to the
weights. Of up to fifteen bitmaps in a group only the four planes of their count are added. And
every bitmap is read once.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import inline, leading_zeros, routine
from swnn_kernels._numba.scalars import prefetch, trailing_zeros
from swnn_kernels._numba.vectors import load_words, splat_words, store_words
from swnn_kernels.index.geometry import STEP_ROWS, STEP_WORDS
from swnn_kernels.neighbours.bitslice import add3
from swnn_kernels.neighbours.sizes import (
    BLOCK,
    GROUP,
    GROUP_PLANES,
    PLANES,
    SIGNIFICANT,
    WEIGHT_CLASSES,
)


@inline
def _class_of(weight):  # type: ignore[no-untyped-def]
    """Number the weights of few significant bits."""
    shift = max(0, 64 - leading_zeros(weight) - SIGNIFICANT)
    return (weight >> shift) + (shift << (SIGNIFICANT - 1))


@inline
def _weight_of(weight_class):  # type: ignore[no-untyped-def]
    """Find the weight of a class."""
    shift = max(0, (weight_class >> (SIGNIFICANT - 1)) - 1)
    return (weight_class - (shift << (SIGNIFICANT - 1))) << shift


@inline
def _sort_bitmaps(query, n_frequent):  # type: ignore[no-untyped-def]
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
def _visit_groups(prune, placing):  # type: ignore[no-untyped-def]
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
def _add_summand(indptr, lines, plane, line, placing):  # type: ignore[no-untyped-def]
    """Count a summand of a plane, or place it behind the plane's other summands."""
    if plane >= PLANES:  # no total is so large: such a line is all zeros
        return
    if placing:
        lines[indptr[plane + 1]] = line
        indptr[plane + 1] += 1
    else:
        indptr[plane + 2] += 1


@routine
def plan_groups(query, n_frequent):  # type: ignore[no-untyped-def]
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
def _next(bits, bitmaps, i, at):  # type: ignore[no-untyped-def]
    """Words of a bitmap; those of the next group are prefetched."""
    prefetch(bits, bitmaps[np.uint64(i + GROUP)] + at)
    return load_words(bits, bitmaps[np.uint64(i)] + at)


@inline
def _count_group(bits, offsets, first, last, at):  # type: ignore[no-untyped-def]
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
def _count_groups(query, step, n_steps):  # type: ignore[no-untyped-def]
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
def counts_at(query, step):  # type: ignore[no-untyped-def]
    """Find where a step's counts start; every BLOCK steps the next ones are counted."""
    if step % BLOCK == 0:
        n_steps = query.index.row_sizes.size // STEP_ROWS
        _count_groups(query, step, min(BLOCK, n_steps - step))
    return step % BLOCK * query.prune.n_groups[0] * (GROUP_PLANES * STEP_WORDS)
