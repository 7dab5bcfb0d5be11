"""The records of arrays that kernels take: numba sees each as a plain tuple."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Lists(NamedTuple):
    """An inverted list of rows for every feature."""

    starts: np.ndarray  # int64, (n_features + 1,)
    rows: np.ndarray  # uint32, (nnz,), ascending in a list
    units: np.ndarray  # int32, (nnz,)


class Split(NamedTuple):
    """The index as the pruned kernel takes it: lists of rare features, the frequent ones apart."""

    lists: Lists
    row_sizes: np.ndarray  # int32, padded to whole steps
    local: np.ndarray  # int32, (n_features,): number among the frequent features or -1
    ends: np.ndarray  # int64, (n_rows + 1,): where the forward rows start and end
    ids: np.ndarray  # uint16: numbers of frequent features, row by row
    forward: np.ndarray  # int32: and their units
    bits: np.ndarray  # uint64: bitmaps one after the other
    words: int  # of a bitmap
    line_a: np.ndarray  # uint16, padded: bounds of the rows, see layout.bound_lines
    line_b: np.ndarray
    second_a: np.ndarray
    second_b: np.ndarray
    line_cap: np.ndarray


class Scratch(NamedTuple):
    """Buffers of one thread for the pruned kernel."""

    table: np.ndarray  # int32: the query's unit of each frequent feature; zeros between queries
    member: np.ndarray  # uint8: whether the query has it; zeros between queries
    rare: np.ndarray  # int64: positions in the lists of rare features
    rare_ends: np.ndarray  # int64
    rare_weights: np.ndarray  # int64
    numbers: np.ndarray  # int64: the query's frequent features by local number
    weights: np.ndarray  # int64: their quantised masses
    count_offsets: np.ndarray  # int64: their bitmaps
    count_starts: np.ndarray  # int64, (PLANES + 1,)
    mass_offsets: np.ndarray  # int64: the same by bits of the masses
    mass_starts: np.ndarray  # int64, (PLANES + 1,)
    cursors: np.ndarray  # int64, (PLANES,)
    planes: np.ndarray  # uint64: vertical counters
    queue: np.ndarray  # uint64: their carries
    slots: np.ndarray  # int64: 0, 8, 16, ...
    sums: np.ndarray  # uint8, (4 * CHUNK,): overlaps and masses of rows, low and high bytes
    uppers: np.ndarray  # float32, (CHUNK,)
    groups: np.ndarray  # float32, (CHUNK / 8,)
    histogram: np.ndarray  # int32
    order: np.ndarray  # int32: pending rows in the order of completion
    rows: np.ndarray  # int64: pending rows
    overlaps: np.ndarray  # int64
    accs: np.ndarray  # int64
    bounds: np.ndarray  # float32
    touched: np.ndarray  # uint32, (n_rows,): rows that share a rare feature
    tally: np.ndarray  # int64: rare postings, bitmaps summed, rows completed, trust in the lists


class Labels(NamedTuple):
    """The labels of every row."""

    starts: np.ndarray  # int64, (n_rows + 1,)
    ids: np.ndarray  # int32, (nnz,)


class Work(NamedTuple):
    """Buffers of one thread; between queries the accumulators hold zeros."""

    values: np.ndarray  # float64: the query's values before they become units
    indices: np.ndarray  # int32: the query's features
    units: np.ndarray  # int32: and their units
    acc: np.ndarray  # int64, (n_rows,): dot * 2**16 + overlap
    overlaps: np.ndarray  # int32, (n_rows,) where overlaps may not fit 16 bits, else empty
    sims: np.ndarray  # float64: the neighbours found
    rows: np.ndarray  # int64
    keys: np.ndarray  # int64, a power of two: hash table of labels
    sums: np.ndarray  # int64
    best_sums: np.ndarray  # int64: the best labels
    best_labels: np.ndarray  # int64


def frozen(array: np.ndarray) -> np.ndarray:
    """Make a read-only plain view: one type for numba, whether built here or mapped from a file."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view
