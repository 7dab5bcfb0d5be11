"""Labels trained again from the rows near them: the same models as training all rows gives."""

import numpy as np
from learn.problems import digest

from swnn_xp import SWNNRanker

RNG = np.random.default_rng(4)
NEAR, FAR, WIDTH = 20, 100, 60


def two_worlds():
    """Rows that share no feature with the other world's, each with labels of its own."""
    X = np.zeros((NEAR + FAR, 2 * WIDTH))
    X[:NEAR, :WIDTH] = RNG.random((NEAR, WIDTH)) * (RNG.random((NEAR, WIDTH)) < 0.7)
    X[NEAR:, WIDTH:] = RNG.random((FAR, WIDTH)) ** 8
    Y = np.zeros((NEAR + FAR, 4), int)
    Y[:NEAR, 0] = np.arange(NEAR) % 4 == 0
    Y[:NEAR, 1] = 1 - Y[:NEAR, 0]
    Y[NEAR:, 2] = X[NEAR:, WIDTH] > 0.01
    Y[NEAR:, 3] = 1 - Y[NEAR:, 2]
    return X, Y


def test_rows_far_away_change_nothing():
    X, Y = two_worlds()
    clf = SWNNRanker(n_neighbors=10).fit(X, Y)
    assert clf.model_.ranking.descent_params.scale_power > 0  # scales depend on all rows
    before = digest(clf)
    clf.relearn([0])
    assert digest(clf) == before


def test_removed_rows_are_as_good_as_gone():
    X, Y = two_worlds()
    again, compacted = (SWNNRanker(n_neighbors=10).fit(X, Y).remove([0, 30, 31]) for _ in "ab")
    assert digest(again.relearn()) == digest(compacted.compact().relearn())
