"""Scores of rows that were left out of the label models: what probabilities are fitted on.

A model is too sure of the rows that it was trained on. So once a label is trained, the descent
takes a tenth of the rows out of its solution, mends that, and scores these rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.descent import MISSED, Pairs
from swnn_xp.learn.calibration import Judgement
from swnn_xp.rows.records import LabelRows


def judge_left_out(
    truth: LabelRows,
    pairs: Pairs,
    scores: NDArray[np.float32],
    vote_weight: float,
    out: NDArray[np.int64],
) -> Judgement:
    """Put what the descent says of the candidates of the rows ``out`` in the order of the rows.

    Parameters
    ----------
    truth : LabelRows
    pairs : Pairs
    scores : array of float32
        Of the candidates of these rows, in the order of the pairs; not a number where the label
        has no model without them: then the vote alone is the score.
    vote_weight : float
        Weight of the vote in the offsets of the pairs.
    out : array of int64
    """
    is_out = np.zeros(truth.n_rows, bool)
    is_out[out] = True
    asked = np.flatnonzero(is_out[pairs.rows] & (pairs.signs != MISSED))
    votes = pairs.offsets[asked] / (vote_weight if vote_weight > 0 else 1.0)
    labels = np.searchsorted(pairs.indptr, asked, side="right") - 1
    order = np.argsort(pairs.rows[asked], kind="stable")
    return Judgement(
        rows=pairs.rows[asked][order].astype(np.int64),
        labels=labels[order],
        scores=np.where(np.isnan(scores), votes, scores)[order].astype(np.float64),
        right=(pairs.signs[asked] > 0)[order],
        n_positives=int(np.diff(truth.indptr)[out].sum()),
    )
