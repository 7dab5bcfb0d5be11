"""The sums over bitmaps that bounds are made of: the same as those of plain integers."""

import numpy as np
import pytest

from swnn_kernels import InvertedIndex
from swnn_kernels.bitslice import PLANES, STEP_ROWS, to_bytes, weighted_sum
from swnn_kernels.cache import inline, kernel
from swnn_kernels.grouping import counts_at, plan_groups
from swnn_kernels.records import Scratch, Split
from swnn_kernels.references import opener, table
from swnn_kernels.workspace import make_scratch

_open_split, _open_scratch = opener(Split), opener(Scratch)


@inline
def put_bytes(scratch, sums, step):
    """Low and high bytes of the counters of a step."""
    to_bytes(scratch.planes, 0, sums[0], step * STEP_ROWS)
    to_bytes(scratch.planes, 8, sums[1], step * STEP_ROWS)


@kernel
def sum_all(split_table, scratch_table, n_features, n_steps, overlaps, weights):
    """Overlaps and weights of every row, from the weights and offsets in ``scratch``."""
    split, scratch = _open_split(split_table), _open_scratch(scratch_table)
    plan_groups(split, scratch, n_features)
    for step in range(n_steps):
        at = counts_at(split, scratch, step)
        weighted_sum(scratch, scratch.count_offsets, scratch.count_starts, at, PLANES)
        put_bytes(scratch, overlaps, step)
        weighted_sum(scratch, scratch.weight_offsets, scratch.weight_starts, at, PLANES)
        put_bytes(scratch, weights, step)


def levels_index(rng, n_rows, n_features):
    """An index of rows of small and large values; where it has a first and a second bit."""
    there = rng.random((n_rows, n_features)) < 0.4
    units = np.where(rng.random(there.shape) < 0.3, 1 << 20, 1 << 16)[there].astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    indices = np.nonzero(there)[1].astype(np.int32)
    index = InvertedIndex.build(indptr, indices, units, n_features, frequent=0.0, fewest=1)
    assert index.frequent.size == n_features
    rows = np.repeat(np.arange(n_rows), np.diff(index.ends))
    keys = index.pairs.astype(np.int64) & 0xFFFF
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
    scratch = make_scratch(index, n_features, -1)
    split = index.split
    first, second = (few_bits(rng, n_features, shifts, bits) for _ in range(2))
    two = np.diff(index.firsts)[:n_features] == 2
    assert two.any()
    second[~two] = 0
    scratch.offsets[:] = index.firsts[:n_features].astype(np.int64) * split.words
    scratch.weights[0::2], scratch.weights[1::2] = first, second
    n_steps = index.row_sizes.size // STEP_ROWS
    sums = np.zeros((2, 2, n_steps * STEP_ROWS), dtype=np.uint8)
    overlaps, weights = (tuple(part) for part in sums)
    for _ in range(2):  # buffers that are not clean any more must do as well
        sum_all(table(split), table(scratch), n_features, n_steps, overlaps, weights)
    found = sums[:, 0].astype(np.int64) + 256 * sums[:, 1].astype(np.int64)
    there, large = there[:, :n_features], large[:, :n_features]
    np.testing.assert_array_equal(found[0, :n_rows], there.sum(axis=1))
    np.testing.assert_array_equal(found[1, :n_rows], there @ first + large @ second)
    assert not found[:, n_rows:].any()
