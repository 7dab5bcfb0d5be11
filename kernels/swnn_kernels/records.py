"""The records of arrays that kernels take, by way of `references.table`."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

Uint8 = Annotated[np.ndarray, np.uint8]
Uint16 = Annotated[np.ndarray, np.uint16]
Uint32 = Annotated[np.ndarray, np.uint32]
Uint64 = Annotated[np.ndarray, np.uint64]
Int32 = Annotated[np.ndarray, np.int32]
Int64 = Annotated[np.ndarray, np.int64]
Float32 = Annotated[np.ndarray, np.float32]
Float64 = Annotated[np.ndarray, np.float64]


class Lists(NamedTuple):
    """An inverted list of rows for every feature."""

    starts: Int64  # (n_features + 1,)
    rows: Uint32  # (nnz,), ascending in a list
    units: Int32  # (nnz,)


class Split(NamedTuple):
    """The index as the pruned kernel takes it: lists of rare features, the frequent ones apart."""

    starts: Int64  # (n_features + 1,): the lists of the rare features, as in Lists
    rows: Uint32
    units: Int32
    row_sizes: Int32  # padded to whole steps
    local: Int32  # (n_features,): number among the frequent features or -1
    ends: Int64  # (n_rows + 1,): where the forward rows start and end
    pairs: Uint32  # frequent features row by row, see pairs.py
    lows: Uint8
    bits: Uint64  # bitmaps one after the other
    words: int  # of a bitmap
    firsts: Int32  # (n_frequent + 1,): bitmaps of a frequent feature, see levels.py
    small: Float32  # (n_frequent,)
    large: Float32  # (n_frequent,)
    scales: Uint16  # padded: upper halves of float32


class Scratch(NamedTuple):
    """Buffers of one thread for the pruned kernel."""

    table: Int32  # the query's unit of each frequent feature; zeros between queries
    shares: Uint16  # by key: what a shared value weighs in a row's sum; zeros between queries
    positive: Int64  # (1,): sum of the query's positive units there
    weight_step: Float64  # (1,): a step of weight in units of dots over scales
    reach: Float64  # (2,): the most of a row's dot over its scale, by all and by one of them
    member: Uint8  # whether the query has it; zeros between queries
    rare: Int64  # positions in the lists of rare features
    rare_ends: Int64
    rare_weights: Int64
    numbers: Int64  # the query's frequent features by local number
    offsets: Int64  # their first bitmaps
    weights: Int64  # of their first and second bitmaps in turn
    kind_ends: Int64  # where the bitmaps of each weight end
    bitmaps: Int64  # bitmaps by weight
    group_ends: Int64  # where each group of them ends
    n_groups: Int64  # (1,)
    counts: Uint64  # of each group, four planes
    count_offsets: Int64  # planes of groups by their weight in the overlap
    count_starts: Int64  # (PLANES + 2,)
    weight_offsets: Int64  # and in the sum of weights
    weight_starts: Int64  # (PLANES + 2,)
    planes: Uint64  # vertical counters
    queue: Uint64  # their carries
    slots: Int64  # 0, 8, 16, ...
    sums: Uint8  # (4 * CHUNK,): overlaps and weights of rows, low and high bytes
    masks: Uint8  # (STEP_ROWS / 8,): which rows of a step pass
    uppers: Float32  # (CHUNK,)
    scores: Float32  # rows, padded: only with a budget
    maxima: Float32  # an eighth as many as uppers or scores
    histogram: Int32
    order: Int32  # pending rows in the order of completion
    rows: Int64  # pending rows
    overlaps: Int64
    accs: Int64
    weights_of: Int64  # their sums of weights, or -1
    bounds: Float32
    touched: Uint32  # (n_rows,): rows that share a rare feature
    tally: Int64  # rare postings, bitmaps read, rows completed, trust in the lists


class Labels(NamedTuple):
    """The labels of every row."""

    starts: Int64  # (n_rows + 1,)
    ids: Int32  # (nnz,)


class Work(NamedTuple):
    """Buffers of one thread; between queries the accumulators hold zeros."""

    values: Float64  # the query's values before they become units
    indices: Int32  # the query's features
    units: Int32  # and their units
    acc: Int64  # (n_rows,): dot * 2**16 + overlap
    overlaps: Int32  # (n_rows,) where overlaps may not fit 16 bits, else empty
    sims: Float64  # the neighbours found
    rows: Int64
    keys: Int64  # a power of two: hash table of labels
    sums: Int64
    best_sums: Int64  # the best labels
    best_labels: Int64


def frozen(array: np.ndarray) -> np.ndarray:
    """Make a read-only plain view: one type for numba, whether built here or mapped from a file."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view
