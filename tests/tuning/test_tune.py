"""Tuning: every score is that of the setting evaluated by itself, on rows it has not seen."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from swnn_xp import SWNNClassifier, metrics
from swnn_xp.model.model import Model
from swnn_xp.tuning import Setting, Split, Trial, paper_grid, tune, wide_grid
from swnn_xp.tuning.records import choose_best, choose_in_two_stages
from swnn_xp.tuning.scoring import parse_metric

GRID = [Setting(S, alpha, beta) for S in (1, 3, 8) for alpha in (0.0, 1.0) for beta in (0.0, 1.0)]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = sp.random_array((700, 40), density=0.15, rng=rng, format="csr", dtype=np.float32)
    Y = sp.csr_array(((X @ rng.random((40, 12))) > 1.9).astype(np.int8))
    return X, Y


def direct(X, Y, fold, setting, metric, backend="auto"):
    """The score of one setting without any of `tune`."""
    clf = SWNNClassifier(*setting, backend=backend).fit(X[fold.train], Y[fold.train])
    name, k = metric.split("@")
    labels, truth = clf.predict_topk(X[fold.test], k=int(k)).labels, Y[fold.test]
    if name == "PSP":
        return metrics.psp_at_k(truth, labels, int(k), metrics.propensities(Y[fold.train]))
    measure = {"P": metrics.precision_at_k, "nDCG": metrics.ndcg_at_k, "R": metrics.recall_at_k}
    return measure[name](truth, labels, int(k))


@pytest.mark.parametrize("metric", ["P@1", "P@5", "nDCG@3", "PSP@3", "R@2"])
def test_hold_out_equals_direct_evaluation(data, metric):
    result = tune(*data, grid=GRID, metric=metric, split=Split(300, seed=5))
    (fold,) = Split(300, seed=5).of(700)
    assert [trial.setting for trial in result.trials] == GRID
    for trial in result.trials:
        assert trial.score == direct(*data, fold, trial.setting, metric)
        assert trial.spread == 0
    assert result.n_done == result.n_asked == 300


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_folds_equal_direct_evaluation(data, backend):
    result = tune(*data, grid=GRID, metric="P@3", split=Split(folds=3, seed=1), backend=backend)
    folds = Split(folds=3, seed=1).of(700)
    for trial in result.trials:
        scores = [direct(*data, fold, trial.setting, "P@3", backend) for fold in folds]
        weights = [fold.test.size for fold in folds]
        assert trial.score == pytest.approx(np.average(scores, weights=weights), abs=1e-12)
        assert trial.spread == pytest.approx(np.std(scores), abs=1e-12)
    assert result.n_done == 700


def test_neighbours_are_found_once_per_beta_for_the_largest_S(data, monkeypatch):
    calls = []
    search = Model.search

    def counted(self, queries, n_neighbors, beta, options):
        calls.append((queries.n_rows, n_neighbors, beta))
        return search(self, queries, n_neighbors, beta, options)

    monkeypatch.setattr(Model, "search", counted)
    tune(*data, grid="paper", split=Split(100))
    assert calls == [(100, 75, 0.0), (100, 75, 1.0)]


def test_the_default_is_the_papers_grid(data):
    result = tune(*data)
    assert [trial.setting for trial in result.trials] == paper_grid(data[1])
    assert result.n_asked == 140
    assert result.trials == tune(*data, split=Split(seed=0)).trials


def test_ctrl_c_keeps_the_blocks_that_are_done(data):
    def interrupt(done, total):
        if done > 256:
            raise KeyboardInterrupt

    complete = tune(*data, grid=GRID, split=Split(600))
    result = tune(*data, grid=GRID, split=Split(600), progress=interrupt)
    assert not result.is_complete
    assert complete.is_complete
    assert (result.n_done, result.n_asked) == (512, 600)
    (fold,) = Split(600).of(700)
    asked = fold._replace(test=fold.test[:512])
    for trial in result.trials:
        assert trial.score == direct(*data, asked, trial.setting, "P@1")


def test_ctrl_c_before_anything_is_done_is_passed_on(data, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Model, "search", interrupt)
    with pytest.raises(KeyboardInterrupt):
        tune(*data, grid=GRID)


def test_two_stages():
    scores = {
        Setting(4, 0.0, 0.0): 0.5,
        Setting(4, 1.0, 1.0): 0.6,  # the first stage chooses (1, 1)
        Setting(25, 0.0, 0.0): 0.9,  # so this is never seen
        Setting(25, 1.0, 1.0): 0.7,
        Setting(50, 1.0, 1.0): 0.7,
    }
    trials = [Trial(setting, score, 0.0) for setting, score in scores.items()]
    assert choose_in_two_stages(trials, 4).setting == (25, 1.0, 1.0)
    assert choose_best(trials).setting == (25, 0.0, 0.0)


def test_the_grids():
    Y = np.ones((3, 5))
    pairs = {(0, 0), (0.5, 0), (1, 0), (1, 1), (2, 0), (2, 1)}
    assert {setting[1:] for setting in paper_grid(Y)} == pairs
    assert {setting.n_neighbors for setting in paper_grid(Y)} == {5, 25, 50, 75}
    assert set(paper_grid(np.ones((2, 5)))) <= set(wide_grid(Y)) | {
        Setting(5, *pair) for pair in pairs
    }


def test_parameters_of_the_best(data):
    result = tune(*data, grid=GRID, split=Split(100))
    assert SWNNClassifier(**result.params()).n_neighbors == result.best.setting.n_neighbors
    assert result.best.score == max(trial.score for trial in result.trials)


@given(st.integers(2, 60), st.integers(1, 6), st.integers(0, 9), st.floats(0.05, 0.95))
def test_splits(n_rows, folds, seed, share):
    folds = min(folds, n_rows)
    share = min(max(share, 1 / n_rows), 1 - 1 / n_rows)
    parts = Split(share, folds, seed).of(n_rows)
    assert len(parts) == folds
    for fold in parts:
        together = np.concatenate([fold.train, fold.test])
        assert sorted(together.tolist()) == list(range(n_rows))
        assert fold.test.size
    if folds > 1:
        asked = np.concatenate([fold.test for fold in parts])
        assert sorted(asked.tolist()) == list(range(n_rows))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "accuracy"}, "metric must be"),
        ({"metric": "P@0"}, "metric must be"),
        ({"split": Split(700)}, "leaves no row"),
        ({"split": Split(0.0001)}, "leaves no row"),
        ({"split": Split(float("inf"))}, "holdout = inf of 700 rows leaves no row"),
        ({"split": Split(float("-inf"))}, "holdout = -inf of 700 rows leaves no row"),
        ({"split": Split(float("nan"))}, "holdout = nan of 700 rows leaves no row"),
        ({"split": Split(folds=0)}, "folds must be"),
        ({"split": Split(folds=701)}, "folds must be"),
        ({"grid": []}, "the grid has no setting"),
        ({"grid": [(0, 1, 1)]}, "n_neighbors must be"),
        ({"grid": [(5, -1, 1)]}, "alpha must be"),
    ],
)
def test_refusals(data, options, message):
    with pytest.raises(ValueError, match=message):
        tune(*data, **options)


def test_rows_must_match(data):
    with pytest.raises(ValueError, match="X has 700 rows but y has 699"):
        tune(data[0], data[1][:-1])


def test_metric_names():
    assert parse_metric("psndcg@5").name == "PSnDCG@5"
    assert parse_metric(" p@10 ") == ("P@10", 10, (0.55, 1.5))
