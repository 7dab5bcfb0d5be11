"""Rare labels first: what is added to a score, and that every way to an answer adds it."""

import numpy as np
import pytest
from learn.problems import rows_and_labels

from swnn_xp import SWNNRanker, load
from swnn_xp.cli.main import main
from swnn_xp.io import write_xmc
from swnn_xp.learn.train import LARGEST, rarity
from swnn_xp.metrics import propensities

X, _ = rows_and_labels(200, 25, 9)
# Labels at random, so that positives which were no candidates are left out of the training ...
Y = (np.random.default_rng(1).random((200, 9)) < np.linspace(0.15, 0.05, 9)).astype(int)
Y[:, 8] = np.arange(200) == 3  # ... and the label of a single row has no model
PLAIN, RARE = (SWNNRanker(n_neighbors=30, rare_labels=w).fit(X, Y) for w in (0.0, 0.25))
ADDED = rarity(Y.sum(axis=0), len(Y), 0.25)


def test_rarity_is_minus_the_logarithm_of_the_propensity():
    assert np.allclose(ADDED * 2.0**-38, -0.25 * np.log(propensities(Y)), rtol=0, atol=2.0**-21)
    assert ADDED[8] == ADDED.max() > 0
    assert not rarity(Y.sum(axis=0), len(Y), 0.0).any()


@pytest.mark.parametrize("n_rows", [0, 1, 2, 3])
def test_rarity_of_very_few_rows_is_not_negative(n_rows):
    added = rarity(np.arange(n_rows + 1), n_rows, LARGEST)
    assert (added >= 0).all()
    assert (added < 2**62).all()


def test_scores_differ_by_the_rarity_alone_also_without_a_model():
    assert not PLAIN.model_.ranking.ranker.modelled[8]
    before, after = (clf.predict_topk(X, k=9) for clf in (PLAIN, RARE))
    scores = np.full((2, len(X), 9), np.nan)
    for table, (labels, found) in zip(scores, (before, after), strict=True):
        rows, slots = np.nonzero(labels >= 0)
        table[rows, labels[rows, slots]] = found[rows, slots]
    assert np.isfinite(scores[:, :, 8]).any()
    there = np.isfinite(scores[0])
    assert np.array_equal(there, np.isfinite(scores[1]))
    assert np.array_equal(
        (scores[1] - scores[0])[there], np.tile(ADDED * 2.0**-38, (200, 1))[there]
    )


def test_sessions_and_explanations_add_it(tmp_path):
    RARE.save(tmp_path / "model")
    opened = load(tmp_path / "model")
    assert opened.rare_labels == 0.25
    session, ranked = opened.session(), RARE.predict_topk(X[:20], k=9)
    for row in range(20):
        features = np.flatnonzero(X[row])
        one = session.predict_one(features, X[row, features], k=9)
        assert np.array_equal(one.labels, ranked.labels[row])
        assert np.array_equal(one.scores, ranked.scores[row])
        for label, score in zip(*(part[row].tolist() for part in ranked), strict=True):
            if label >= 0:
                why = opened.explain(X[row], label)
                assert why.score == score == why.vote + why.model
                assert why.model == why.bias + sum(f.contribution for f in why.features)


def test_it_belongs_to_training():
    clf = SWNNRanker(n_neighbors=30).fit(X, Y).set_params(rare_labels=0.5)
    with pytest.raises(ValueError, match=r"rare_labels=0.5, but the ranker was trained with 0.0"):
        clf.predict_topk(X)


@pytest.mark.parametrize("wrong", [-0.1, np.inf, 1e6, "much", None])
def test_wrong_weights_are_refused(wrong):
    with pytest.raises(ValueError, match="rare_labels must be"):
        SWNNRanker(rare_labels=wrong).fit(X, Y)


def test_command_line(tmp_path, capsys):
    write_xmc(tmp_path / "train.txt", X, Y)
    fit = ["fit", str(tmp_path / "train.txt"), "-o", str(tmp_path / "m"), "--rare-labels", "0.25"]
    assert main(fit) != 0
    assert "--rare-labels needs --learn ranking" in capsys.readouterr().err
    assert main([*fit, "--learn", "ranking"]) in (0, None)
    assert load(tmp_path / "m").rare_labels == 0.25
