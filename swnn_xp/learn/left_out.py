"""Scores of rows that were left out of the label models: what probabilities are fitted on.

A model is too sure of the rows that it was trained on. So the labels that are candidates of a
tenth of the rows are trained once more, without these rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.descent import MISSED, Pairs, Problem
from swnn_kernels.learn.rank import SCORE_BITS
from swnn_kernels.learn.score_pairs import score_pairs
from swnn_kernels.learn.scorer import Scorer
from swnn_kernels.records import Rows
from swnn_xp.learn.calibration import Judgement
from swnn_xp.learn.descent import Done, train_labels
from swnn_xp.learn.quantised_models import quantise_models
from swnn_xp.rows.records import LabelRows, QuantisedRows
from swnn_xp.rows.slicing import pointers_of_sizes

_STEP = 2.0**-SCORE_BITS
_NO_TABLES = np.zeros((2, 1, 1), np.int64)


def judge_left_out(
    training: tuple[QuantisedRows, LabelRows],
    pairs: Pairs,
    problem: Problem,
    vote_weight: float,
    out: NDArray[np.int64],
    n_jobs: int = 1,
    done: Done | None = None,
    scales: NDArray[np.float64] | None = None,
) -> Judgement:
    """Score the candidates of the rows ``out`` by models that were trained without these rows."""
    plain, truth = training
    label = np.repeat(np.arange(pairs.indptr.size - 1), np.diff(pairs.indptr))
    is_out = np.zeros(plain.n_rows, bool)
    is_out[out] = True
    left = is_out[pairs.rows]
    asked = np.flatnonzero(left & (pairs.signs != MISSED))
    asked = asked[np.argsort(pairs.rows[asked], kind="stable")]
    rows, labels = pairs.rows[asked].astype(np.int64), label[asked]
    wanted = np.zeros(pairs.indptr.size - 1, bool)
    wanted[labels] = True
    kept = _kept(pairs, ~left & wanted[label], label)
    models = train_labels(plain, kept, problem, n_jobs, done, scales)
    scorer = Scorer.prepare(quantise_models(models, _NO_TABLES), plain.n_features)
    votes = pairs.offsets[asked].astype(np.float64)
    linear = score_pairs(scorer, Rows(*plain), (rows, labels)) * _STEP
    modelled = models.modelled[labels] != 0
    alone = votes / vote_weight if vote_weight > 0 else votes  # the offset is weighted
    scores = np.where(modelled, votes + linear, alone)
    n_positives = int(np.diff(truth.indptr)[out].sum())
    return Judgement(rows, labels, scores, pairs.signs[asked] > 0, n_positives)


def _kept(pairs: Pairs, keep: NDArray[np.bool_], label: NDArray[np.int64]) -> Pairs:
    sizes = np.bincount(label[keep], minlength=pairs.indptr.size - 1)
    parts = (part[keep] for part in pairs[1:])
    return Pairs(pointers_of_sizes(sizes), *parts)
