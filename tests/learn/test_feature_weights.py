"""Feature weights: shrunk by the rows that they come from, used where they help."""

import numpy as np
import pytest
from learn.problems import digest, rows_and_labels

from swnn_kernels.learn.descent import SQUARES_SCALE
from swnn_xp import LearnedWeights, SWNNRanker
from swnn_xp.learn import train
from swnn_xp.learn.settings import TrainingSettings
from swnn_xp.learn.weights import FeatureUse, prior_rows
from swnn_xp.rows.canonical import canonical_rows

RNG = np.random.default_rng(4)
GRID = [2 ** (step / 2) for step in range(17)]


def noisy_use(n_features, noise):
    """Two halves of the same truth, each with noise that falls with the rows of a feature."""
    n_rows = RNG.integers(0, 30, (2, n_features))
    truth = RNG.gamma(4.0, 0.25, n_features)
    halves = []
    for rows in n_rows:
        weights = truth + noise * RNG.standard_normal(n_features) / np.sqrt(np.maximum(rows, 1))
        squares = np.maximum(weights, 0.01) ** 2 * rows * SQUARES_SCALE
        halves.append(FeatureUse(squares.astype(np.int64), rows))
    return halves


def oracle_weights(use):
    found = [
        (int(square) / SQUARES_SCALE / max(1, int(rows))) ** 0.5
        for square, rows in zip(use.squares, use.n_rows, strict=True)
    ]
    positive = [weight for weight in found if weight > 0]
    return [weight / (sum(positive) / len(positive)) for weight in found]


def oracle_shrunk(use, prior):
    pairs = zip(oracle_weights(use), use.n_rows.tolist(), strict=True)
    return [(rows * weight + prior * 1.0) / (rows + prior) for weight, rows in pairs]


def oracle_error(halves, prior):
    total = 0.0
    for by, of in (halves, halves[::-1]):
        shrunk, told = oracle_shrunk(by, prior), oracle_weights(of)
        for j in range(len(told)):
            if by.n_rows[j] and of.n_rows[j]:
                total += int(of.n_rows[j]) * (shrunk[j] - told[j]) ** 2
    return total


@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
def test_weights_are_shrunk_as_defined(noise):
    halves = noisy_use(200, noise)
    prior = prior_rows(halves)
    assert prior == min(GRID, key=lambda prior: oracle_error(halves, prior))
    for use in halves:
        np.testing.assert_allclose(use.weights(), oracle_weights(use), rtol=1e-12)
        np.testing.assert_allclose(use.shrunk(prior), oracle_shrunk(use, prior), rtol=1e-12)
        assert (use.shrunk(prior)[use.n_rows == 0] == 1.0).all()


def test_noise_shrinks_weights_more():
    priors = [prior_rows(noisy_use(2000, noise)) for noise in (0.0, 1.0, 2.0)]
    assert priors[0] < 2 < priors[1] < priors[2]


def test_weights_that_nothing_can_be_compared_with_are_shrunk_most():
    alone = [FeatureUse(np.asarray([SQUARES_SCALE, 0]), np.asarray([9, 0])) for _ in range(2)]
    alone[1] = FeatureUse(alone[1].squares[::-1], alone[1].n_rows[::-1])
    assert prior_rows(alone) == max(GRID)
    none = FeatureUse(np.zeros(3, np.int64), np.zeros(3, np.int64))
    assert none.shrunk(1.0).tolist() == [1.0] * 3


X, Y = rows_and_labels(1200, 25, 9)


def test_features_that_the_sample_lacks_count_as_if_nothing_was_learned(monkeypatch):
    monkeypatch.setattr(train, "_WEIGHT_ENTRIES", 1)  # a quarter of the rows
    part = train.part_of_rows(canonical_rows(X, "X"), TrainingSettings())
    rows = np.hstack([X, np.zeros((len(X), 2))])
    rows[np.delete(np.arange(len(X)), part), -2] = 1.0  # only where nobody looks; the last nowhere
    learned = LearnedWeights(n_neighbors=9).fit(rows, Y).feature_weights_
    assert learned[-2:].tolist() == [1.0, 1.0]
    assert len(set(learned[:-2])) > 10


def test_rows_on_trial_were_not_learned_from(monkeypatch):
    seen = []
    real = train.FirstRound.unseen

    def look(self, n_rows):
        found = real(self, n_rows)
        seen.append((self, found))
        return found

    monkeypatch.setattr(train.FirstRound, "unseen", look)
    SWNNRanker(n_neighbors=9).fit(X, Y)
    monkeypatch.setattr(train, "_WEIGHT_ENTRIES", 1)
    monkeypatch.setattr(train, "_LEAST_TRIAL_ROWS", 800)
    monkeypatch.setattr(train, "_TRIAL_ROWS", (800, 900))
    SWNNRanker(n_neighbors=9).fit(X, Y)
    (_, by_halves), (first, by_whole) = seen
    assert sum(rows.size for _, rows in by_halves) == 1200
    assert [(learned is first.whole, rows.size) for learned, rows in by_whole] == [(True, 800)]
    for learned, rows in by_halves + by_whole:
        assert not set(rows) & set(learned.rows)
        assert (np.diff(rows) > 0).all()


def needles(n=1200):
    """Rows in which one of eight features names the label, and 30 others say nothing."""
    rng = np.random.default_rng(1)
    of = rng.integers(0, 8, n)
    return np.hstack([np.eye(8)[of], (rng.random((n, 30)) < 0.3) * 1.0]), np.eye(8, dtype=int)[of]


def upside_down(self, learned):
    """Weights that hide what the label models rely on."""
    return 1.0 / np.maximum(learned.use.weights(), 0.01) ** 3


def test_weights_that_help_are_used(tmp_path):
    rows, labels = needles()
    clf = SWNNRanker(n_neighbors=9).fit(rows, labels)
    assert clf.weights_used_.startswith("search")
    assert clf.feature_weights_[:8].mean() > 1.5 * clf.feature_weights_[8:].mean()
    clf.save(tmp_path / "model")
    assert SWNNRanker.load(tmp_path / "model").weights_used_ == clf.weights_used_


def test_weights_that_do_harm_are_left_aside(monkeypatch, tmp_path):
    monkeypatch.setattr(train.FirstRound, "weights", upside_down)
    rows, labels = needles()
    sizes = {"n_neighbors": 9, "n_candidates": 8}
    clf = SWNNRanker(**sizes).fit(rows, labels)
    assert (clf.weights_used_, clf.feature_weights_) == ("none", None)
    assert digest(clf) == digest(SWNNRanker(**sizes, learn_weights=False).fit(rows, labels))
    clf.save(tmp_path / "model")
    assert SWNNRanker.load(tmp_path / "model").weights_used_ == "none"


def test_few_rows_are_not_tried(monkeypatch):
    monkeypatch.setattr(train.FirstRound, "weights", upside_down)
    rows, labels = needles(900)
    assert SWNNRanker(n_neighbors=9).fit(rows, labels).weights_used_ == "search"


@pytest.mark.parametrize("gain", [0.5, -0.5])
def test_label_models_of_long_rows_use_them_if_they_gain(monkeypatch, gain):
    found = []
    real = train.Trial.precision

    def precision(self, ranking):
        """The third ranking of each trial is that of scaled label models."""
        found.append(ranking)
        right = real(self, ranking)
        return right + gain if len(found) % 3 == 0 else right

    monkeypatch.setattr(train, "_LONG_ROW", 3)
    monkeypatch.setattr(train.Trial, "precision", precision)
    rows, labels = needles()
    clf = SWNNRanker(n_neighbors=9).fit(rows, labels)
    assert clf.weights_used_ == ("search and label models" if gain > 0 else "search")
    assert len(found) == 6
    again = SWNNRanker(n_neighbors=9).fit(rows, labels).compress(0.5)
    assert again.weights_used_ == clf.weights_used_


@pytest.mark.parametrize("harmful", [False, True])
def test_the_choice_is_the_same_everywhere(monkeypatch, harmful):
    if harmful:
        monkeypatch.setattr(train.FirstRound, "weights", upside_down)
    rows, labels = needles()
    params = {"n_neighbors": 9, "n_candidates": 5}
    usual = SWNNRanker(**params).fit(rows, labels)
    assert (usual.weights_used_ == "none") == harmful
    for machine in ({"n_jobs": 2}, {"memory_budget": 200_000}, {"backend": "numpy"}):
        other = SWNNRanker(**params, **machine).fit(rows, labels)
        assert other.weights_used_ == usual.weights_used_
        assert digest(other) == digest(usual)
