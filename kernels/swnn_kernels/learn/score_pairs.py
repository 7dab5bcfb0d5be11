"""Products of label models and rows for given (row, label) pairs."""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import kernel, struct_view, table
from swnn_kernels.dtypes import frozen
from swnn_kernels.learn.scorer import (
    LookUps,
    Scorer,
    begin_look_ups,
    end_look_ups,
    linear_score,
    look_up_buffers,
)
from swnn_kernels.records import Rows

_open_scorer, _open_rows = struct_view(Scorer), struct_view(Rows)
_open_look_ups = struct_view(LookUps)


@kernel
def _score(scorer_table, rows_table, look_ups_table, pairs, scattered, out):  # type: ignore[no-untyped-def]
    scorer, rows = _open_scorer(scorer_table), _open_rows(rows_table)
    look_ups = _open_look_ups(look_ups_table)
    pair_rows, pair_labels = pairs
    p = 0
    while p < pair_rows.size:
        row = pair_rows[p]
        first, last = rows.indptr[row], rows.indptr[row + 1]
        for f in range(first, last):
            scattered[rows.indices[f]] = rows.quantised[f]
        query = rows.indices, rows.quantised, first, last
        begin_look_ups(scorer, query, look_ups)
        while p < pair_rows.size and pair_rows[p] == row:
            label = pair_labels[p]
            linear = linear_score(scorer, label, scattered, look_ups)
            out[p] = (linear << scorer.shift) + scorer.biases[label]
            p += 1
        end_look_ups(scorer, query, look_ups)
        for f in range(first, last):
            scattered[rows.indices[f]] = 0


def score_pairs(scorer: Scorer, rows: Rows, pairs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Integer product, with bias, of each pair's row and the model of its label.

    Parameters
    ----------
    scorer : Scorer
    rows : Rows
        Not scaled by feature weights.
    pairs : row numbers and labels, arrays of int64
        Pairs of one row side by side are faster. Both must be in range.

    Examples
    --------
    >>> from swnn_kernels.learn.bins import N_BINS
    >>> from swnn_kernels.learn.scorer import Ranker
    >>> vote, one = np.zeros(2 * N_BINS, np.int64), np.ones(1, np.uint8)
    >>> ranker = Ranker(np.array([0, 1]), np.array([0], np.int32), np.array([2**14], np.int16),
    ...                 np.ones(1, np.int64), one, vote, 1)
    >>> rows = Rows(np.array([0, 1]), np.array([0]), np.array([2**23]), 1)
    >>> score_pairs(Scorer.prepare(ranker, 1), rows, (np.array([0]), np.array([0]))).tolist()
    [274877906945]
    """
    rows = rows.prepared()
    both = tuple(frozen(np.ascontiguousarray(part, np.int64)) for part in pairs)
    out = np.empty(both[0].size, np.int64)
    scattered = np.zeros(scorer.n_features, np.int32)
    look_ups = look_up_buffers(int(np.diff(rows.indptr).max(initial=0)), scorer)
    _score(table(scorer), table(rows), table(look_ups), both, scattered, out)
    return out
