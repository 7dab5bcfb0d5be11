"""Scores of rows left out are those of models that never saw them."""

import numpy as np
import pytest
from learn.test_descent import DENSE, ROWS, L, N, newton, own, problem, random_pairs

from swnn_kernels.learn.descent import MISSED
from swnn_xp.learn import label_models as descent
from swnn_xp.learn.label_models import held_out_scores, train_labels
from swnn_xp.rows.records import LabelRows

OUT = np.arange(0, N, 9)
COSTS = [0.1, 0.7, 3.0, 1.0, 0.3]
PAIRS = random_pairs(11, missed=True)


def models_without(pairs, rows):
    """Weights and bias of each label by Newton's method, without some rows."""
    for label in range(L):
        _, place, offsets, signs = own(pairs, label)
        kept = ~np.isin(place, rows)
        costs = np.where(signs == MISSED, 0.4, 1.0) * COSTS[label]
        right = np.where(signs > 0, 1.0, -1.0)
        yield newton(DENSE[place[kept]], right[kept], offsets[kept], costs[kept])


def scores_by(models, pairs):
    """Scores of the candidates among the rows left out, in the order of the pairs."""
    found = []
    for label, weights in enumerate(models):
        _, place, offsets, signs = own(pairs, label)
        asked = np.isin(place, OUT) & (signs != MISSED)
        found.append(DENSE[place[asked]] @ weights[:-1] + weights[-1] + offsets[asked])
    return np.concatenate(found)


def test_scores_are_close_to_those_of_models_trained_without_the_rows():
    scores = train_labels(ROWS, PAIRS, problem(COSTS), left_out=OUT).scores
    without = scores_by(models_without(PAIRS, OUT), PAIRS)
    seen = scores_by(models_without(PAIRS, []), PAIRS)
    assert np.abs(scores - without).mean() < 0.4 * np.abs(seen - without).mean()


def test_leaving_rows_out_changes_no_model():
    plain, with_scores = (
        train_labels(ROWS, PAIRS, problem(COSTS, tight=False), left_out=out) for out in (None, OUT)
    )
    assert plain.scores.size == 0
    for one, other in zip(plain[:-1], with_scores[:-1], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_and_chunks_give_the_same_scores(monkeypatch, n_jobs):
    found = []
    for jobs, chunk in ((1, descent._CHUNK), (n_jobs, 30)):  # else one thread has all labels
        monkeypatch.setattr(descent, "_CHUNK", chunk)
        models = train_labels(ROWS, PAIRS, problem(COSTS, tight=False), jobs, left_out=OUT)
        found.append(models.scores)
    assert found[0].size
    np.testing.assert_array_equal(*found)


def scored(pairs):
    truth = LabelRows(np.arange(N + 1), np.zeros(N, np.int32), L)
    found = train_labels(ROWS, pairs, problem(COSTS), left_out=OUT)
    votes = pairs.offsets[np.isin(pairs.rows, OUT) & (pairs.signs != MISSED)] / 0.5
    return found.scores, held_out_scores(truth, pairs, found.scores, votes, OUT)


def test_the_vote_alone_scores_labels_without_a_model():
    """All positives of label 2 are left out, so nothing is left to learn from."""
    signs, span = PAIRS.signs.copy(), slice(*PAIRS.indptr[2:4])
    out = np.isin(PAIRS.rows[span], OUT)
    signs[span] = np.where(out, 1, -1)
    pairs = PAIRS._replace(signs=signs)
    scores, found = scored(pairs)
    assert np.isnan(scores).sum() == out.sum() > 0
    votes = dict(zip(pairs.rows[span], pairs.offsets[span] / 0.5, strict=True))
    mine = found.labels == 2
    assert found.scores[mine].tolist() == [votes[row] for row in found.rows[mine]]


def test_judged_candidates_stand_row_by_row():
    scores, found = scored(PAIRS)
    assert np.all(np.diff(found.rows) >= 0)
    assert set(found.rows) <= set(OUT)
    labels = np.repeat(np.arange(L), np.diff(PAIRS.indptr))
    asked = np.isin(PAIRS.rows, OUT) & (PAIRS.signs != MISSED)
    expected = sorted(zip(PAIRS.rows[asked], labels[asked], scores, strict=True))
    assert expected == list(zip(found.rows, found.labels, found.scores, strict=True))
    assert found.n_positives == OUT.size
