"""Kernels that put rows into the index's arrays, and read rows and values from them again.

Rare features keep postings lists. A frequent feature becomes a bitmap over all rows, or two (see
levels.py), and its values go into forward rows, where a rescoring finds those of one row together.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import half_to_float, inline, kernel, struct_view
from swnn_kernels.index.forward_entries import frequent_id_of, lo_of, pack_hi, quantised_of
from swnn_kernels.index.forward_rows import SortBuffers, sort_row
from swnn_kernels.index.geometry import set_bit
from swnn_kernels.index.levels import bucket_of_ratio, ratio_of
from swnn_kernels.index.views import Postings, PrunedIndex
from swnn_kernels.records import Rows

_open_rows, _open_index = struct_view(Rows), struct_view(PrunedIndex)
_open_postings, _open_sort = struct_view(Postings), struct_view(SortBuffers)


@kernel
def count_features(indices, counts):  # type: ignore[no-untyped-def]
    """Count the rows of every feature."""
    for p in range(indices.size):
        counts[indices[p]] += 1


@inline
def _add_listed(index, feature, row, quantised):  # type: ignore[no-untyped-def]
    """Append a posting to a feature's list."""
    slot = index.list_indptr[feature + 1]
    index.list_indptr[feature + 1] = slot + 1
    index.list_rows[slot] = row
    index.list_quantised[slot] = quantised


@inline
def _add_forward(index, slot, row, frequent, quantised, is_large):  # type: ignore[no-untyped-def]
    """Write a forward entry and its bits."""
    index.forward_hi[slot] = pack_hi(frequent, is_large, quantised)
    index.forward_lo[slot] = lo_of(quantised)
    set_bit(index, index.bitmap_indptr[frequent], row)
    if is_large:
        set_bit(index, index.bitmap_indptr[frequent] + 1, row)


@kernel
def fill(rows_table, index_table, last_bucket, sort_table):  # type: ignore[no-untyped-def]
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
def count_forward(forward_hi, counts):  # type: ignore[no-untyped-def]
    """Count the forward entries of every frequent feature."""
    for p in range(forward_hi.size):
        counts[frequent_id_of(forward_hi[p])] += 1


@inline
def _copy(index, p, out, slot):  # type: ignore[no-untyped-def]
    """Copy posting ``p`` of the lists to a slot of the postings."""
    out.rows[slot] = index.list_rows[p]
    out.quantised[slot] = index.list_quantised[p]


@kernel
def invert(index_table, out_table, cursor, out_cursor):  # type: ignore[no-untyped-def]
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
def transpose(postings_table, rows_table, cursor):  # type: ignore[no-untyped-def]
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
def _first_at_least(values, low, high, value):  # type: ignore[no-untyped-def]
    """Position in ascending values[low:high] where a value is or would be."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find(index_table, feature, row):  # type: ignore[no-untyped-def]
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
