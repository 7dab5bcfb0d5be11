"""Which setting is chosen, and which rows are held out: at random, by group, the last, none."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, write_xmc
from swnn_xp.cli.main import main
from swnn_xp.metrics import precision_at_k
from swnn_xp.tuning import RankingSetting, Setting, Split, tune, tune_ranking
from swnn_xp.tuning.records import choose_best, choose_in_two_stages, mean_labels

GRID = [Setting(3, 1.0, 1.0), Setting(7, 0.0, 0.0), Setting(40, 2.0, 1.0)]


@pytest.fixture(scope="module")
def data():
    """Rows with ties: every fifth is a duplicate, and one has no feature."""
    rng = np.random.default_rng(4)
    X = (rng.random((60, 12)) < 0.3) * rng.integers(1, 3, (60, 12))
    X[::5] = X[1::5]
    X[7] = 0
    Y = (X @ rng.random((12, 6)) > 2.2).astype(int)
    return sp.csr_array(X), sp.csr_array(Y)


def test_the_best_measured_is_chosen_unless_two_steps_are_asked_for(data):
    for grid, rule in (("paper", "best"), ("wide", "best"), (GRID, "best"), ("two-step",) * 2):
        result = tune(*data, grid=grid)
        assert result.rule == rule
        if rule == "best":
            assert result.best.score == max(trial.score for trial in result.trials)
            assert result.best == choose_best(result.trials)
            assert "chosen: the best measured" in result.to_toml()
        else:
            assert result.best == choose_in_two_stages(result.trials, mean_labels(data[1]))
            assert "the paper's two steps" in result.to_toml()


def test_leave_one_out_is_a_fit_without_each_row(data):
    X, Y = data
    result = tune(X, Y, grid=GRID, metric="P@3", split=Split(leave_one_out=True))
    assert result.n_done == 60
    for trial in result.trials:
        hits = []
        for row in range(60):
            others = np.delete(np.arange(60), row)
            clf = SWNNClassifier(*trial.setting).fit(X[others], Y[others])
            hits.append(precision_at_k(Y[[row]], clf.predict_topk(X[[row]], 3).labels, 3))
        assert trial.score == pytest.approx(np.mean(hits), abs=1e-12)


def test_the_last_rows(data):
    (fold,) = Split(0.25, last=True).of(20)
    assert fold.test.tolist() == [15, 16, 17, 18, 19]
    assert fold.train.tolist() == list(range(15))
    assert tune(*data, grid=GRID, split=Split(last=True)).held_out == "the last rows held out"


@pytest.mark.parametrize("folds", [1, 3])
def test_groups_stay_together(folds):
    groups = np.asarray(list("aabbccddeeffaabbcc"))
    parts = Split(0.3, folds, groups=groups).of(18)
    assert len(parts) == folds
    for fold in parts:
        assert not set(groups[fold.train]) & set(groups[fold.test])
        assert sorted([*fold.train, *fold.test]) == list(range(18))
    if folds == 1:
        assert 6 <= parts[0].test.size < 18
    else:
        assert sorted(np.concatenate([fold.test for fold in parts])) == list(range(18))


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (Split(groups=["a"] * 59), "there are groups of 59 rows, but 60 rows"),
        (Split(groups=["a"] * 60), "1 groups are too few"),
        (Split(leave_one_out=True, last=True), "leave_one_out and last can't be combined"),
        (Split(folds=2, last=True), "last and folds can't be combined"),
    ],
)
def test_refusals(data, split, message):
    with pytest.raises(ValueError, match=message):
        tune(*data, grid=GRID, split=split)


def test_without_scikit_learn_random_rows_name_the_extra(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for split in (Split(last=True), Split(leave_one_out=True)):
        assert tune(*data, grid=GRID, split=split).is_complete
    with pytest.raises(ImportError, match=r"needs scikit-learn: pip install 'swnn-xp\[tune\]'"):
        tune(*data, grid=GRID)


def test_label_models_can_not_leave_one_out(data):
    with pytest.raises(ValueError, match="leave_one_out is for tune alone"):
        tune_ranking(*data, grid=[RankingSetting(5, 0.2, 0.5)], split=Split(leave_one_out=True))


def test_the_command_says_which_rule_and_which_rows(data, tmp_path, capsys):
    file, groups = tmp_path / "train.txt", tmp_path / "groups.txt"
    write_xmc(file, *data)
    groups.write_text("".join(f"source {i // 3}\n" for i in range(60)))
    for options, rows, rule in (
        ([], "held out at random", "the best measured"),
        (["--two-step"], "held out at random", "the paper's two steps"),
        (["--group", str(groups)], "held out by group", "the best measured"),
        (["--holdout-last", "--holdout", "10"], "10 rows, the last rows held out", "the best"),
        (["--leave-one-out"], "60 rows, each row left out in turn", "the best measured"),
    ):
        page = tmp_path / "page.html"
        assert main(["tune", str(file), "--plot", str(page), *options]) == 0
        shown = capsys.readouterr().out
        assert rows in shown
        assert f"chosen: {rule}" in shown
        assert "Chosen: " + rule.split("'")[0] in page.read_text()
    assert main(["tune", str(file), "--learn", "ranking", "--leave-one-out"]) != 0
    assert "--leave-one-out is not for --learn ranking" in capsys.readouterr().err
