"""Building the arrays of an index, and reading rows and values from them again.

Rare features keep postings lists. A frequent feature becomes a bitmap over all rows, or two, and
its values go into forward rows, where a rescoring finds those of one row together: the largest
first, so that it may stop when the rest can add only little.

**Levels** bound the values of a frequent feature by its bitmaps. A row's scale is 1 / sqrt(its
size), the root mean square of a unit row's values. Every value of the feature is at most
scale * large, and those without a bit in the second bitmap are at most scale * small. A feature
whose values are much alike has one bitmap. The few values beyond stay in its postings list, as a
rare feature's do, so that one huge value does not raise the level of all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels._numba import (
    Table,
    float_bits,
    half_to_float,
    inline,
    kernel,
    leading_zeros,
    struct_view,
    table,
)
from swnn_kernels.index.arrays import (
    Postings,
    PrunedIndex,
    StoredArrays,
    empty_bitmaps,
    frequent_id_of,
    frequent_ids,
    lo_of,
    pack_hi,
    padded,
    quantised_of,
    set_bit,
    words_of,
)
from swnn_kernels.records import (
    FRACTION_BITS,
    Bool,
    Float,
    Float32,
    Int,
    Int32,
    Int64,
    QuantisedRows,
    Uint8,
    Uint16,
    Uint32,
)

_MAX_LISTED = 0.005  # share of a feature's values that may stay in its list
_ALIKE = 0.85  # mean of the levels over the large one from which one bitmap is enough
_BUCKETS = 128  # of a feature's ratios value / scale, eight to an octave
_SHIFT = np.uint32(20)
_LOWEST = (127 - 10) * 8  # ratios of 2**-10 and less fall into the first bucket
_ONE = 2.0**FRACTION_BITS

_open_rows = struct_view(QuantisedRows)


class Levels(NamedTuple):
    """The levels of the frequent features, and which values stay in their lists."""

    small: Float32
    large: Float32  # equal to small where one bitmap is enough
    last_bucket: Int32  # the last bucket of ratios that leave the list
    n_listed: Int64  # number of values that stay


@inline
def ratio_of(quantised: Int, scale: Float) -> Float:
    """Ratio of a value to its row's scale, rounded up."""
    return np.float32(abs(np.float64(quantised)) / (_ONE * np.float64(scale)) * (1.0 + 2.0**-22))


@inline
def bucket_of_ratio(quantised: Int, ratio: Float) -> Int:
    """Bucket of a ratio; the last one is for the value 1, which does not fit a forward entry."""
    if quantised >= _ONE:
        return np.int64(_BUCKETS - 1)
    return min(max(np.int64(float_bits(ratio) >> _SHIFT) - _LOWEST, 0), _BUCKETS - 2)


@kernel
def _fill_scales(row_sizes: Int32, scales: Uint16) -> None:
    for row in range(row_sizes.size):
        scale = np.float32((1.0 + 2.0**-20) / np.sqrt(np.float64(max(1, row_sizes[row]))))
        scales[row] = np.uint16((float_bits(scale) + np.uint32(0xFFFF)) >> np.uint32(16))


def scales_of(row_sizes: np.ndarray) -> np.ndarray:
    """Scale of every row, rounded up to the upper half of a float32."""
    scales = np.empty(row_sizes.size, dtype=np.uint16)
    _fill_scales(row_sizes, scales)
    return scales


@kernel
def _count_ratios(
    rows_table: Table[QuantisedRows],
    frequent_id: Int32,
    scales: Uint16,
    counts: Int64,
    tops: Float32,
) -> None:
    """Count every frequent feature's ratios by bucket, and find the largest of each bucket."""
    rows = _open_rows(rows_table)
    for row in range(rows.indptr.size - 1):
        scale = half_to_float(scales[row])
        for p in range(rows.indptr[row], rows.indptr[row + 1]):
            feature = frequent_id[rows.indices[p]]
            if feature >= 0:
                ratio = ratio_of(rows.quantised[p], scale)
                bucket = bucket_of_ratio(rows.quantised[p], ratio)
                counts[feature, bucket] += 1
                tops[feature, bucket] = max(tops[feature, bucket], ratio)


@inline
def _last_bucket(counts: Int64, total: Int) -> tuple[Int, Int]:
    """The last bucket that leaves the list, and the number of values beyond it."""
    bucket = _BUCKETS - 2
    listed = np.int64(counts[_BUCKETS - 1])
    while bucket > 0 and listed + counts[bucket] <= _MAX_LISTED * total:
        listed += counts[bucket]
        bucket -= 1
    return bucket, listed


@kernel
def _choose(
    counts: Int64, tops: Float32, small: Float32, large: Float32, last_bucket: Int32
) -> None:
    """Choose every feature's levels and the last bucket of values that leave its list."""
    for feature in range(small.size):
        total = np.int64(0)
        for b in range(_BUCKETS):
            total += counts[feature, b]
        bucket, listed = _last_bucket(counts[feature], total)
        last_bucket[feature] = bucket
        top = np.float32(0.0)
        for b in range(bucket + 1):
            top = max(top, tops[feature, b])
        # The small level saves (large - small) for every value up to it.
        best, below = 0.0, np.int64(0)
        small[feature] = top
        large[feature] = top
        for b in range(bucket + 1):
            below += counts[feature, b]
            saved = below * (np.float64(top) - np.float64(tops[feature, b]))
            if tops[feature, b] > 0.0 and saved > max(
                best, (1.0 - _ALIKE) * top * (total - listed)
            ):
                best = saved
                small[feature] = tops[feature, b]


def choose_levels(
    rows: QuantisedRows, frequent_id: np.ndarray, scales: np.ndarray, n_frequent: int
) -> Levels:
    """Choose the levels of the frequent features."""
    counts = np.zeros((n_frequent, _BUCKETS), dtype=np.int64)
    tops = np.zeros((n_frequent, _BUCKETS), dtype=np.float32)
    _count_ratios(table(rows), frequent_id, scales, counts, tops)
    small = np.zeros(n_frequent, dtype=np.float32)
    large = np.zeros(n_frequent, dtype=np.float32)
    last_bucket = np.zeros(n_frequent, dtype=np.int32)
    _choose(counts, tops, small, large, last_bucket)
    beyond = np.arange(_BUCKETS) > last_bucket[:, None]
    return Levels(small, large, last_bucket, np.where(beyond, counts, 0).sum(axis=1))


_SIZES = 128  # buckets of magnitudes, four to an octave: within one, the order does not matter


class SortBuffers(NamedTuple):
    """Memory to sort a row of a given length in."""

    hi: Uint32
    lo: Uint8
    histogram: Int64  # (_SIZES,)


def sort_buffers(longest: int) -> SortBuffers:
    """Memory to sort rows of at most ``longest`` entries in."""
    return SortBuffers(
        np.empty(longest, dtype=np.uint32),
        np.empty(longest, dtype=np.uint8),
        np.zeros(_SIZES, dtype=np.int64),
    )


@inline
def _bucket_of(quantised: Int) -> Int:
    """Bucket of a value's magnitude: its width and its two bits below the first."""
    magnitude = abs(np.int64(quantised))
    width = 64 - leading_zeros(magnitude)
    return 4 * width + ((magnitude << 2 >> max(0, width - 1)) & 3)


@inline
def sort_row(index: PrunedIndex, first: Int, last: Int, buffers: SortBuffers) -> None:
    """Sort the entries first..last of the forward rows by falling magnitude."""
    hi, lo, histogram = index.forward_hi, index.forward_lo, buffers.histogram
    histogram[:] = 0
    for p in range(first, last):
        buffers.hi[p - first] = hi[p]
        buffers.lo[p - first] = lo[p]
        histogram[_bucket_of(quantised_of(hi[p], lo[p]))] += 1
    slot = first
    for bucket in range(_SIZES - 1, -1, -1):
        count = histogram[bucket]
        histogram[bucket] = slot
        slot += count
    for i in range(last - first):
        bucket = _bucket_of(quantised_of(buffers.hi[i], buffers.lo[i]))
        hi[histogram[bucket]] = buffers.hi[i]
        lo[histogram[bucket]] = buffers.lo[i]
        histogram[bucket] += 1


_open_index = struct_view(PrunedIndex)
_open_postings, _open_sort = struct_view(Postings), struct_view(SortBuffers)


@kernel
def count_features(indices: Int32, counts: Int64) -> None:
    """Count the rows of every feature."""
    for p in range(indices.size):
        counts[indices[p]] += 1


@inline
def _add_listed(index: PrunedIndex, feature: Int, row: Int, quantised: Int) -> None:
    """Append a posting to a feature's list."""
    slot = index.list_indptr[feature + 1]
    index.list_indptr[feature + 1] = slot + 1
    index.list_rows[slot] = row
    index.list_quantised[slot] = quantised


@inline
def _add_forward(
    index: PrunedIndex, slot: Int, row: Int, frequent: Int, quantised: Int, is_large: Bool
) -> None:
    """Write a forward entry and its bits."""
    index.forward_hi[slot] = pack_hi(frequent, is_large, quantised)
    index.forward_lo[slot] = lo_of(quantised)
    set_bit(index, index.bitmap_indptr[frequent], row)
    if is_large:
        set_bit(index, index.bitmap_indptr[frequent] + 1, row)


@kernel
def fill(
    rows_table: Table[QuantisedRows],
    index_table: Table[PrunedIndex],
    last_bucket: Int32,
    sort_table: Table[SortBuffers],
) -> None:
    """Put every value into a list or a forward row.

    ``list_indptr`` comes shifted by one place (list f starts at ``list_indptr[f + 1]``) and is
    advanced to the usual form.
    """
    rows, index = _open_rows(rows_table), _open_index(index_table)
    buffers = _open_sort(sort_table)
    slot = np.int64(0)
    for row in range(rows.indptr.size - 1):
        scale = half_to_float(index.row_scales[row])
        for p in range(rows.indptr[row], rows.indptr[row + 1]):
            feature, quantised = rows.indices[p], rows.quantised[p]
            frequent = np.int64(index.frequent_id[feature])
            ratio = ratio_of(quantised, scale)
            if frequent < 0 or bucket_of_ratio(quantised, ratio) > last_bucket[frequent]:
                _add_listed(index, feature, row, quantised)
            else:
                is_large = ratio > index.level_small[frequent]
                _add_forward(index, slot, row, frequent, quantised, is_large)
                slot += 1
        index.forward_indptr[row + 1] = slot
        sort_row(index, index.forward_indptr[row], slot, buffers)


@kernel
def count_forward(forward_hi: Uint32, counts: Int64) -> None:
    """Count the forward entries of every frequent feature."""
    for p in range(forward_hi.size):
        counts[frequent_id_of(forward_hi[p])] += 1


@inline
def _copy(index: PrunedIndex, p: Int, out: Postings, slot: Int) -> None:
    """Copy posting ``p`` of the lists to a slot of the postings."""
    out.rows[slot] = index.list_rows[p]
    out.quantised[slot] = index.list_quantised[p]


@kernel
def invert(
    index_table: Table[PrunedIndex], out_table: Table[Postings], cursor: Int64, out_cursor: Int64
) -> None:
    """Fill the postings of all features at ``out.indptr``, from lists and forward rows.

    ``cursor`` and ``out_cursor`` are buffers: where the list and the output of each frequent
    feature stand.
    """
    index, out = _open_index(index_table), _open_postings(out_table)
    starts, frequent_features = index.list_indptr, index.frequent_features
    for feature in range(starts.size - 1):
        frequent = index.frequent_id[feature]
        if frequent >= 0:
            cursor[frequent] = starts[feature]
            out_cursor[frequent] = out.indptr[feature]
        for p in range(starts[feature], starts[feature + 1] if frequent < 0 else 0):
            _copy(index, p, out, out.indptr[feature] + p - starts[feature])
    for row in range(index.forward_indptr.size - 1):
        for p in range(index.forward_indptr[row], index.forward_indptr[row + 1]):
            frequent = frequent_id_of(index.forward_hi[p])
            end = starts[frequent_features[frequent] + 1]
            while cursor[frequent] < end and index.list_rows[cursor[frequent]] < row:
                _copy(index, cursor[frequent], out, out_cursor[frequent])
                cursor[frequent] += 1
                out_cursor[frequent] += 1
            out.rows[out_cursor[frequent]] = row
            out.quantised[out_cursor[frequent]] = quantised_of(
                index.forward_hi[p], index.forward_lo[p]
            )
            out_cursor[frequent] += 1
    for frequent in range(frequent_features.size):
        for p in range(cursor[frequent], starts[frequent_features[frequent] + 1]):
            _copy(index, p, out, out_cursor[frequent] + p - cursor[frequent])


@kernel
def transpose(
    postings_table: Table[Postings], rows_table: Table[QuantisedRows], cursor: Int32
) -> None:
    """Fill rows with ascending features from postings; ``cursor`` is a buffer of zeros."""
    postings, rows = _open_postings(postings_table), _open_rows(rows_table)
    for feature in range(postings.indptr.size - 1):
        for p in range(postings.indptr[feature], postings.indptr[feature + 1]):
            row = postings.rows[p]
            slot = rows.indptr[row] + cursor[row]
            cursor[row] += 1
            rows.indices[slot] = feature
            rows.quantised[slot] = postings.quantised[p]


@inline
def _first_at_least(values: Int32, low: Int, high: Int, value: Int) -> Int:
    """Position in ascending values[low:high] where a value is or would be."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find(index_table: Table[PrunedIndex], feature: Int, row: Int) -> tuple[Bool, Int]:
    """Whether a row has a feature, and its value."""
    index = _open_index(index_table)
    last = index.list_indptr[feature + 1]
    p = _first_at_least(index.list_rows, index.list_indptr[feature], last, row)
    if p < last and index.list_rows[p] == row:
        return True, np.int64(index.list_quantised[p])
    frequent = index.frequent_id[feature]
    if frequent >= 0:
        for p in range(index.forward_indptr[row], index.forward_indptr[row + 1]):
            if frequent_id_of(index.forward_hi[p]) == frequent:
                return True, quantised_of(index.forward_hi[p], index.forward_lo[p])
    return False, np.int64(0)


FEWEST = 64
"""Rows below which no feature is frequent: a bitmap would be mostly padding."""
_FREQUENT = 0.01  # share of the rows from which a bitmap pays
_MAX_BYTES = 12  # for a non-zero in all
_MAX_FREQUENT = 2**15  # a key, twice a frequent id, fits 16 bits


def build_arrays(rows: QuantisedRows, frequent: float | None, fewest: int) -> StoredArrays:
    """Build the arrays of an index from checked rows."""
    counts = np.zeros(rows.n_features, dtype=np.int64)
    count_features(rows.indices, counts)
    share = _default_share(counts, rows.n_rows) if frequent is None else frequent
    least = max(fewest, int(np.ceil(share * rows.n_rows)))
    features = _frequent_features(counts, least, rows.n_rows)
    row_sizes = np.zeros(padded(rows.n_rows), dtype=np.int32)
    row_sizes[: rows.n_rows] = np.diff(rows.indptr)
    scales = scales_of(row_sizes)
    ids = frequent_ids(features, rows.n_features)
    levels = choose_levels(rows, ids, scales, features.size)
    n_listed = counts.copy()
    n_listed[features] = levels.n_listed
    index = _allocated(rows, features, levels, n_listed)._replace(
        frequent_id=ids, row_sizes=row_sizes, row_scales=scales
    )
    largest = int(row_sizes.max(initial=0))
    buffers = sort_buffers(largest)
    fill(table(rows), table(index), levels.last_bucket, table(buffers))
    more = {
        "sizes": np.array([rows.n_features, largest], dtype=np.int64),
        "list_indptr": index.list_indptr[:-1].copy(),
        "bitmaps": index.bitmaps.reshape(-1, index.bitmap_words),
    }
    names = StoredArrays._fields
    return StoredArrays.from_dict({n: more[n] if n in more else getattr(index, n) for n in names})


def _allocated(
    rows: QuantisedRows, features: np.ndarray, levels: Levels, n_listed: np.ndarray
) -> PrunedIndex:
    """Allocate the arrays that `fill` fills; those of the rows are empty."""
    list_indptr = np.zeros(rows.n_features + 2, dtype=np.int64)
    np.cumsum(n_listed, out=list_indptr[2:])
    n_forward = rows.indices.size - int(list_indptr[-1])
    bitmap_indptr = np.zeros(features.size + 1, dtype=np.int32)
    np.cumsum(np.where(levels.small < levels.large, 2, 1), out=bitmap_indptr[1:])
    empty = np.zeros(0, dtype=np.int32)
    return PrunedIndex(
        row_sizes=empty,
        list_indptr=list_indptr,
        list_rows=np.empty(rows.indices.size - n_forward, dtype=np.uint32),
        list_quantised=np.empty(rows.indices.size - n_forward, dtype=np.int32),
        frequent_features=features,
        frequent_id=empty,
        forward_indptr=np.zeros(rows.n_rows + 1, dtype=np.int64),
        forward_hi=np.empty(n_forward, dtype=np.uint32),
        forward_lo=np.empty(n_forward, dtype=np.uint8),
        bitmaps=empty_bitmaps(int(bitmap_indptr[-1]), rows.n_rows).reshape(-1),
        bitmap_words=words_of(rows.n_rows),
        bitmap_indptr=bitmap_indptr,
        level_small=levels.small,
        level_large=levels.large,
        row_scales=empty,
    )


def _default_share(counts: np.ndarray, n_rows: int) -> float:
    """No feature is frequent where a query like the rows meets fewer postings than rows."""
    meets_few = float(np.square(counts, dtype=np.float64).sum()) < float(n_rows) ** 2
    return 2.0 if meets_few else _FREQUENT


def _frequent_features(counts: np.ndarray, least: int, n_rows: int) -> np.ndarray:
    """Features of at least ``least`` rows, ascending; fewer if bitmaps would grow too large.

    A value costs 8 bytes in a list and 5 in a forward row; two bitmaps a feature come on top.
    """
    order = np.argsort(-counts, kind="stable")[:_MAX_FREQUENT]
    often = order[counts[order] >= least]
    bitmaps = 2 * 8 * words_of(n_rows) * np.arange(1, often.size + 1)
    room = (_MAX_BYTES - 8) * counts.sum() + 3 * np.cumsum(counts[often])
    room -= 14 * n_rows + 12 * counts.size
    fits = np.flatnonzero(bitmaps <= room)
    often = often[: fits[-1] + 1 if fits.size else 0]
    return np.sort(often).astype(np.int32)
