"""Training: the same model whatever the threads and blocks, within its memory, safe to stop."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from learn.problems import digest, rows_and_labels

from swnn_xp import LearnedWeights, SWNNRanker
from swnn_xp.learn import label_models as descent
from swnn_xp.learn import train
from swnn_xp.learn.candidates import Candidates
from swnn_xp.learn.settings import TrainingSettings
from swnn_xp.learn.train import vote_agreement
from swnn_xp.rows.records import LabelRows

X, Y = rows_and_labels(200, 25, 9)
ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
from learn.problems import digest, rows_and_labels
from swnn_xp import SWNNRanker
X, Y = rows_and_labels(200, 25, 9)
print(digest(SWNNRanker(n_neighbors=9, n_jobs=int(sys.argv[2])).fit(X, Y)))
"""


def test_processes_and_threads_train_the_same_model():
    here = digest(SWNNRanker(n_neighbors=9).fit(X, Y))
    for n_jobs in ("1", "3"):
        command = [sys.executable, "-c", ALONE, str(Path(__file__).parents[1]), n_jobs]
        there = subprocess.run(command, capture_output=True, text=True, check=True)
        assert there.stdout.strip() == here


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("budget", [1, 50_000, 10**9])
@pytest.mark.parametrize("chunk", [40, 250_000])
def test_threads_blocks_and_chunks_do_not_change_a_bit(monkeypatch, n_jobs, budget, chunk):
    usual = SWNNRanker(n_neighbors=9).fit(X, Y)
    weights = LearnedWeights(n_neighbors=9).fit(X, Y).feature_weights_
    monkeypatch.setattr(descent, "_CHUNK", chunk)
    options = {"n_neighbors": 9, "n_jobs": n_jobs, "memory_budget": budget}
    assert digest(SWNNRanker(**options).fit(X, Y)) == digest(usual)
    np.testing.assert_array_equal(LearnedWeights(**options).fit(X, Y).feature_weights_, weights)


def test_a_seed_decides(monkeypatch):
    monkeypatch.setattr(train, "_WEIGHT_ENTRIES", 1)  # feature weights from a quarter of the rows
    one = digest(SWNNRanker(n_neighbors=9, random_state=1).fit(X, Y))
    assert one == digest(SWNNRanker(n_neighbors=9, random_state=1).fit(X, Y))
    assert one != digest(SWNNRanker(n_neighbors=9, random_state=2).fit(X, Y))


def test_feature_weights_come_from_a_part_of_the_rows(monkeypatch):
    searched = []
    real = train.find_neighbours

    def count(training, *rest):
        searched.append(training.labels.n_rows)
        return real(training, *rest)

    monkeypatch.setattr(train, "find_neighbours", count)
    for entries in (1, np.count_nonzero(X) * 3 // 5):
        monkeypatch.setattr(train, "_WEIGHT_ENTRIES", entries)
        LearnedWeights(n_neighbors=9).fit(X, Y)
    LearnedWeights(n_neighbors=9, max_rows=30).fit(X, Y)
    SWNNRanker(n_neighbors=9).fit(X, Y)
    assert searched == [50, 119, 30, 119, 200]


def test_any_form_of_the_input_trains_the_same_model():
    usual = digest(SWNNRanker(n_neighbors=9).fit(X, Y))
    shuffled = sp.csr_array(X)
    for at in range(len(X)):
        own = slice(shuffled.indptr[at], shuffled.indptr[at + 1])
        shuffled.indices[own], shuffled.data[own] = (
            part[own][::-1].copy() for part in (shuffled.indices, shuffled.data)
        )
    shuffled.has_sorted_indices = False
    for rows in (sp.csc_array(X), sp.csr_array(X, dtype=np.float32), shuffled, X.tolist(), X * 3):
        assert digest(SWNNRanker(n_neighbors=9).fit(rows, sp.coo_array(Y))) == usual
    frozen, labels = sp.csr_array(X), sp.csr_array(Y)
    for array in (frozen.indptr, frozen.indices, frozen.data, labels.indptr, labels.indices):
        array.flags.writeable = False
    assert digest(SWNNRanker(n_neighbors=9).fit(frozen, labels)) == usual


STAGES = ["feature weights: neighbours", "feature weights: label models", "neighbours",
          "vote score", "label models"]  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(monkeypatch, stage):
    clf = SWNNRanker(n_neighbors=9).fit(X[:100], Y[:100])
    before, model = clf.predict_topk(X), clf.model_
    weights = LearnedWeights(n_neighbors=9).fit(X[:100], Y[:100])
    learned = weights.feature_weights_.copy()
    seen = []

    def show(self, now, done, total):
        seen.append(now)
        if now == stage:
            raise KeyboardInterrupt

    monkeypatch.setattr("swnn_xp.progress.StageProgress.show", show)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, Y)
    assert seen[-1] == stage
    assert clf.model_ is model
    for mine, its in zip(clf.predict_topk(X), before, strict=True):
        np.testing.assert_array_equal(mine, its)
    if stage.startswith("feature weights"):
        with pytest.raises(KeyboardInterrupt):
            weights.fit(X, Y)
        np.testing.assert_array_equal(weights.feature_weights_, learned)
    unfitted = SWNNRanker(n_neighbors=9)
    with pytest.raises(KeyboardInterrupt):
        unfitted.fit(X, Y)
    assert not unfitted.__sklearn_is_fitted__()


@pytest.mark.parametrize("budget", [1, 10**5, 10**6])
def test_blocks_of_training_fit_the_budget(monkeypatch, budget):
    sizes = []
    real = train.leave_one_out

    def count(found, voters, first, selection, evidence):
        sizes.append(found.ids.shape[0])
        of_row = found.ids.shape[1] * 16 + selection.n_candidates * 12 * len(selection.cuts)
        assert sizes[-1] == 1 or sizes[-1] * of_row <= budget
        return real(found, voters, first, selection, evidence)

    monkeypatch.setattr(train, "leave_one_out", count)
    SWNNRanker(n_neighbors=9, memory_budget=budget, learn_weights=False).fit(X, Y)
    assert sum(sizes) == 200


def big_problem():
    rng = np.random.default_rng(0)
    X = sp.random_array((6000, 400), density=0.03, rng=rng, format="csr")
    return X, sp.random_array((6000, 60), density=0.03, rng=rng, format="csr") != 0


def peak_of(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_neighbours_and_candidates_of_all_rows_are_never_held_at_once():
    """But those of the rows on which centroids are tried are: 20,000 at most."""
    X, Y = big_problem()
    params = {"n_neighbors": 300, "n_candidates": 5, "learn_weights": False, "n_jobs": 1}
    params["centroids"] = False
    SWNNRanker(**params).fit(X[:50], Y[:50])
    small, large = (
        peak_of(lambda budget=budget: SWNNRanker(memory_budget=budget, **params).fit(X, Y))
        for budget in (4 * 10**6, 10**9)
    )
    assert large - small > 6000 * 300 * 8  # half of what all neighbours take


def test_ranking_by_array_code_fits_the_budget(tmp_path):
    X, Y = big_problem()
    SWNNRanker(n_neighbors=100, learn_weights=False).fit(X, Y).save(tmp_path)
    budget = 20_000_000
    clf = SWNNRanker.load(tmp_path, backend="numpy", memory_budget=budget)
    clf.predict_topk(X[:2])
    assert peak_of(lambda: clf.predict_topk(X[:300])) < budget


def test_agreement_counts_labels_among_as_many_first_candidates():
    right = np.asarray([[1, 0, 1], [1, 1, 0]], np.uint8)
    block = Candidates(np.zeros((2, 3), np.int32), np.zeros((2, 3, 1), np.uint16), right)
    labels = LabelRows(np.asarray([0, 2, 3]), np.asarray([0, 1, 0], np.int32), 2)
    assert vote_agreement([block], labels) == 2 / 2  # label 1 has a single row: not to be found
    assert vote_agreement([], labels) == 0.0


def test_label_models_are_scaled_where_a_trial_or_the_user_says_so():
    settings = TrainingSettings()
    assert settings.descent_params(0.9).scale_power == 0.0
    assert settings.descent_params(0.9, scales_models=True).scale_power == 0.5
    assert (
        settings._replace(scale_power=0.0).descent_params(0.9, scales_models=True).scale_power
        == 0.0
    )
    assert settings.for_weights().descent_params(0.9, scales_models=True).scale_power == 0.0
