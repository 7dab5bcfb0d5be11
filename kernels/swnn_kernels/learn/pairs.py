"""(row, label) pairs of training, sorted by label."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels._numba import inline, kernel
from swnn_kernels.learn.descent import MISSED


class Block(NamedTuple):
    """Candidates of successive rows, and the labels these rows have."""

    first: int  # number of the first row
    labels: np.ndarray  # int32, (n, K): candidates, -1 where there is none
    right: np.ndarray  # uint8, (n, K)
    label_indptr: np.ndarray  # int64, (n_rows + 1,): the labels of all rows
    label_indices: np.ndarray  # int32


@inline
def _is_candidate(labels, q, label):  # type: ignore[no-untyped-def]
    found = False
    for i in range(labels.shape[1]):
        found |= labels[q, i] == label
    return found


@kernel
def count_pairs(block, missed, counts):  # type: ignore[no-untyped-def]
    """Add the pairs of each label to ``counts``; positives that are no candidates if ``missed``."""
    for q in range(block.labels.shape[0]):
        for i in range(block.labels.shape[1]):
            if block.labels[q, i] >= 0:
                counts[block.labels[q, i]] += 1
        row = block.first + q
        if missed:
            for p in range(block.label_indptr[row], block.label_indptr[row + 1]):
                if not _is_candidate(block.labels, q, block.label_indices[p]):
                    counts[block.label_indices[p]] += 1


@inline
def _put(pairs, ends, label, row, offset, sign):  # type: ignore[no-untyped-def]
    at = ends[label]
    pairs.rows[at] = row
    pairs.offsets[at] = offset
    pairs.signs[at] = sign
    ends[label] = at + 1


@kernel
def place_pairs(block, offsets, missed, missed_offset, ends, pairs):  # type: ignore[no-untyped-def]
    """Put each pair of a block where its label's pairs have come to; ``ends`` moves on."""
    for q in range(block.labels.shape[0]):
        row = block.first + q
        for i in range(block.labels.shape[1]):
            label = block.labels[q, i]
            if label >= 0:
                sign = 1 if block.right[q, i] else -1
                _put(pairs, ends, label, row, offsets[q, i], sign)
        if missed:
            for p in range(block.label_indptr[row], block.label_indptr[row + 1]):
                if not _is_candidate(block.labels, q, block.label_indices[p]):
                    _put(pairs, ends, block.label_indices[p], row, missed_offset, MISSED)
