"""The sums over bitmaps that bounds are made of: the same as those of plain integers."""

import numpy as np
import pytest

from swnn_kernels import HybridIndex, QuantisedRows
from swnn_kernels._numba import inline, kernel, struct_view, table
from swnn_kernels.answer.searcher import prune_buffers
from swnn_kernels.index.arrays import STEP_ROWS, PrunedIndex
from swnn_kernels.neighbours.bitslice import counts_at, plan_groups, to_bytes, weighted_sum
from swnn_kernels.neighbours.records import PLANES, PruneBuffers, Query

_open_index, _open_prune = struct_view(PrunedIndex), struct_view(PruneBuffers)


@inline
def put_bytes(prune, sums, step):
    """Low and high bytes of the counters of a step."""
    to_bytes(prune.planes, 0, sums[0], step * STEP_ROWS)
    to_bytes(prune.planes, 8, sums[1], step * STEP_ROWS)


@kernel
def sum_all(index_table, prune_table, n_features, n_steps, overlaps, weights):
    """Overlaps and weights of every row, from the weights and offsets in the buffers."""
    prune = _open_prune(prune_table)
    query = Query(_open_index(index_table), 0, prune, 0, 0, 0, 0.0)
    plan_groups(query, n_features)
    for step in range(n_steps):
        at = counts_at(query, step)
        weighted_sum(prune, prune.overlap_lines, prune.overlap_indptr, at, PLANES)
        put_bytes(prune, overlaps, step)
        weighted_sum(prune, prune.weight_lines, prune.weight_indptr, at, PLANES)
        put_bytes(prune, weights, step)


def levels_index(rng, n_rows, n_features):
    """An index of rows of small and large values; where it has a first and a second bit."""
    there = rng.random((n_rows, n_features)) < 0.4
    values = np.where(rng.random(there.shape) < 0.3, 1 << 20, 1 << 16)[there]
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    rows = QuantisedRows(indptr, np.nonzero(there)[1], values, n_features)
    index = HybridIndex.build(rows, frequent=0.0, fewest=1)
    assert index.stored.frequent_features.size == n_features
    rows = np.repeat(np.arange(n_rows), np.diff(index.stored.forward_indptr))
    keys = index.stored.forward_hi.astype(np.int64) & 0xFFFF
    bits = np.zeros((2, n_rows, n_features), dtype=np.int64)
    bits[0, rows, keys >> 1] = 1
    bits[1, rows, keys >> 1] = keys & 1
    return index, *bits


def few_bits(rng, size, most, bits):
    """Random weights of few significant bits."""
    mantissa = rng.integers(0, 2**bits, size)
    return mantissa << rng.integers(0, most + 1, size)


@pytest.mark.parametrize(
    ("n_features", "shifts", "bits"),
    [(1, 4, 3), (3, 0, 1), (14, 6, 2), (15, 0, 1), (16, 0, 1), (90, 7, 2), (90, 5, 4), (600, 2, 4)],
)
@pytest.mark.parametrize("n_rows", [700, 9 * 512 + 7])
def test_sums_are_those_of_integers(n_rows, n_features, shifts, bits):
    rng = np.random.default_rng([n_rows, n_features])
    index, there, large = levels_index(rng, n_rows, max(20, n_features))
    prune = prune_buffers(index, n_features)
    bitmap_indptr = index.stored.bitmap_indptr
    first, second = (few_bits(rng, n_features, shifts, bits) for _ in range(2))
    two = np.diff(bitmap_indptr)[:n_features] == 2
    assert two.any()
    second[~two] = 0
    prune.bitmap_offsets[:] = (
        bitmap_indptr[:n_features].astype(np.int64) * index.pruned.bitmap_words
    )
    prune.bitmap_weights[0::2], prune.bitmap_weights[1::2] = first, second
    n_steps = index.stored.row_sizes.size // STEP_ROWS
    sums = np.zeros((2, 2, n_steps * STEP_ROWS), dtype=np.uint8)
    overlaps, weights = (tuple(part) for part in sums)
    for _ in range(2):  # buffers that were used before must do as well
        sum_all(index.pruned_table, table(prune), n_features, n_steps, overlaps, weights)
    found = sums[:, 0].astype(np.int64) + 256 * sums[:, 1].astype(np.int64)
    there, large = there[:, :n_features], large[:, :n_features]
    np.testing.assert_array_equal(found[0, :n_rows], there.sum(axis=1))
    np.testing.assert_array_equal(found[1, :n_rows], there @ first + large @ second)
    assert not found[:, n_rows:].any()
