"""Tuning the ranker: every score is that of a ranker fitted by itself, on rows it has not seen."""

import tomllib

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNRanker, datasets, metrics
from swnn_xp.model.model import Model
from swnn_xp.tuning import RankingSetting, Split, ranking, ranking_grid, tune_ranking

AUTO = RankingSetting("auto", "auto", "auto")
GRID = [
    AUTO,
    RankingSetting(30, 0.1, 0.5),
    RankingSetting(4, 0.8, 0.3),
    RankingSetting(30, 0.8, 0.3),
    RankingSetting(110, 0.3, "auto"),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = sp.random_array((500, 40), density=0.15, rng=rng, format="csr", dtype=np.float32)
    X = sp.vstack([X, X[:60]], format="csr")  # copies do not vote for one another
    Y = sp.csr_array(((X @ rng.random((40, 12))) > 1.9).astype(np.int8))
    return X, Y


def direct(X, Y, fold, setting, metric, **params):
    """The score of one setting without any of `tune_ranking`."""
    clf = SWNNRanker(**setting._asdict(), **params).fit(X[fold.train], Y[fold.train])
    name, k = metric.split("@")
    labels, truth = clf.predict_topk(X[fold.test], k=int(k)).labels, Y[fold.test]
    if name == "PSP":
        return metrics.psp_at_k(truth, labels, int(k), metrics.propensities(Y[fold.train]))
    return {"P": metrics.precision_at_k, "nDCG": metrics.ndcg_at_k}[name](truth, labels, int(k))


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("P@3", {}),
        ("nDCG@5", {"learn_weights": False, "beta": 0.0}),
        ("PSP@2", {"n_candidates": 3, "random_state": 4, "alpha": 2.0}),
        ("P@1", {"backend": "numpy"}),
    ],
)
def test_hold_out_equals_direct_evaluation(data, metric, params):
    result = tune_ranking(*data, grid=GRID, metric=metric, split=Split(150, seed=5), **params)
    (fold,) = Split(150, seed=5).of(560)
    assert [trial.setting for trial in result.trials] == GRID
    for trial in result.trials:
        assert trial.score == direct(*data, fold, trial.setting, metric, **params)
        assert trial.spread == 0
    assert result.best.score == max(trial.score for trial in result.trials)
    assert result.n_done == result.n_asked == 150
    assert result.is_complete


def test_folds_equal_direct_evaluation(data):
    grid = GRID[1:4]
    result = tune_ranking(*data, grid=grid, metric="P@2", split=Split(folds=3, seed=1))
    folds = Split(folds=3, seed=1).of(560)
    for trial in result.trials:
        scores = [direct(*data, fold, trial.setting, "P@2") for fold in folds]
        weights = [fold.test.size for fold in folds]
        assert trial.score == pytest.approx(np.average(scores, weights=weights), abs=1e-12)
        assert trial.spread == pytest.approx(np.std(scores), abs=1e-12)
    assert result.n_done == 560


def test_on_real_rows():
    debtags = datasets.load("debtags")
    X, Y = debtags.X_train[:2500], debtags.y_train[:2500]
    grid = [AUTO, RankingSetting(50, 0.4, 0.5)]
    result = tune_ranking(X, Y, grid=grid, metric="P@3", n_jobs=2)
    (fold,) = Split().of(2500)
    for trial in result.trials:
        assert trial.score == direct(X, Y, fold, trial.setting, "P@3")


def test_each_fold_is_searched_once_for_the_largest_S(data, monkeypatch):
    found, weights = [], []
    search, learn = Model.search, ranking.prepare

    def counted(self, queries, n_neighbors, *rest):
        found.append((queries.n_rows, n_neighbors))
        return search(self, queries, n_neighbors, *rest)

    def prepared(*args, **options):
        weights.append(args[0].indptr.size - 1)
        return learn(*args, **options)

    monkeypatch.setattr(Model, "search", counted)
    monkeypatch.setattr(ranking, "prepare", prepared)
    tune_ranking(*data, grid=GRID, split=Split(folds=2))
    assert found == [(280, 110), (280, 110)]
    assert weights == [280, 280]


def test_what_auto_has_become_is_not_trained_twice(data, monkeypatch):
    (fold,) = Split(100).of(560)
    clf = SWNNRanker().fit(data[0][fold.train], data[1][fold.train])
    same = RankingSetting(clf.n_neighbors_, clf.C_, clf.vote_weight_)
    trained, train = [], ranking.train_ranking

    def counted(*args, **options):
        trained.append(args[2])
        return train(*args, **options)

    monkeypatch.setattr(ranking, "train_ranking", counted)
    result = tune_ranking(*data, grid=[AUTO, same], split=Split(100))
    assert len(trained) == 1
    assert result.trials[0].score == result.trials[1].score
    assert result.best.setting == AUTO  # the first of equals


def interrupted_by(*wanted):
    def on_progress(stage, done, total):
        if stage.startswith(wanted):
            raise KeyboardInterrupt

    return on_progress


def test_ctrl_c_keeps_the_settings_of_the_first_fold(data):
    whole = tune_ranking(*data, grid=GRID, split=Split(150))
    result = tune_ranking(*data, grid=GRID, split=Split(150), progress=interrupted_by("setting 3"))
    assert not result.is_complete
    assert (len(result.trials), result.n_settings, result.n_done) == (2, 5, 150)
    assert set(result.trials) < set(whole.trials)


def test_ctrl_c_keeps_whole_folds(data):
    on_progress = interrupted_by("fold 2: setting 4")
    result = tune_ranking(*data, grid=GRID, split=Split(folds=2, seed=1), progress=on_progress)
    (first, _) = Split(folds=2, seed=1).of(560)
    assert (len(result.trials), result.n_done, result.n_asked) == (5, 280, 560)
    assert not result.is_complete
    for trial in result.trials[:2]:
        assert trial.score == direct(*data, first, trial.setting, "P@1")


@pytest.mark.parametrize("stage", ["feature weights", "neighbours", "setting 1"])
def test_ctrl_c_before_anything_is_done_is_passed_on(data, stage):
    with pytest.raises(KeyboardInterrupt):
        tune_ranking(*data, grid=GRID, progress=interrupted_by(stage))


def test_parameters_of_the_best(data):
    fixed = {"n_candidates": 5, "learn_weights": False}
    result = tune_ranking(*data, grid=GRID[1:], split=Split(100), **fixed, n_jobs=2)
    params = result.params()
    assert params == fixed | result.best.setting._asdict()
    assert SWNNRanker(**params).n_candidates == 5
    assert tomllib.loads(result.to_toml()) == {"learn": "ranking"} | params


def test_the_default_grid(data, monkeypatch):
    grid = ranking_grid()
    assert grid[0] == AUTO
    assert len(set(grid)) == len(grid) == 37
    monkeypatch.setattr(ranking, "ranking_grid", lambda: grid[:2])
    result = tune_ranking(*data)
    assert [trial.setting for trial in result.trials] == grid[:2]
    assert result.n_asked == 112


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "accuracy"}, "metric must be"),
        ({"split": Split(560)}, "leaves no row"),
        ({"grid": []}, "the grid has no setting"),
        ({"grid": [(0, 1, 1)]}, "n_neighbors must be"),
        ({"grid": [(5, 0.0, 1)]}, "C must be"),
        ({"grid": [(5, 0.1, -1)]}, "vote_weight must be"),
        ({"C": 1.0}, "C is tuned: give it in the grid"),
        ({"gamma": 1.0}, "no parameter 'gamma'"),
        ({"beta": -1.0}, "beta must be"),
    ],
)
def test_refusals(data, options, message):
    with pytest.raises(ValueError, match=message):
        tune_ranking(*data, **options)


def test_rows_must_match(data):
    with pytest.raises(ValueError, match="X has 560 rows but y has 559"):
        tune_ranking(data[0], data[1][:-1])
