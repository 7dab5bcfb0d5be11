"""Precision of learned models on real data, with defaults; left out where the data is absent."""

from pathlib import Path

import numpy as np
import pytest

from swnn_xp import LearnedWeights, SWNNClassifier, SWNNRanker, metrics, read_xmc

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"left out: no real data sets at ../{DATA.parent.name}/{DATA.name}"
)

FLOORS = {"bibtex": (66.9, 41.0, 29.7), "citeulike-t": (65.4, 48.5, 39.2)}
PUBLISHED = {"bibtex": (57.89, 34.41, 25.57), "citeulike-t": (62.29, 45.28, 36.55)}
SPREAD = 0.3  # between seeds and versions


@pytest.fixture(scope="module", params=FLOORS)
def problem(request):
    return request.param, *(
        read_xmc(DATA / request.param / f"{part}.txt.xz") for part in ("train", "test")
    )


def precisions(Y, labels):
    return np.asarray([100 * metrics.precision_at_k(Y, labels, k) for k in (1, 3, 5)])


def test_a_ranker_reaches_its_floor(problem):
    name, train, (X, Y) = problem
    clf = SWNNRanker(n_jobs=-1).fit(*train)
    found = clf.predict_topk(X, k=5)
    assert (precisions(Y, found.labels) >= np.asarray(FLOORS[name]) - SPREAD).all()
    some = X[:100]
    session = clf.session()
    for row, (labels, scores) in enumerate(zip(*clf.predict_topk(some, 5), strict=True)):
        own = slice(some.indptr[row], some.indptr[row + 1])
        one = session.predict_one(some.indices[own], some.data[own], 5)
        assert one.labels.tolist() == labels.tolist()
        assert one.scores.tolist() == scores.tolist()
    other = clf.set_params(backend="numpy").predict_topk(some[:40], 5)
    np.testing.assert_array_equal(other.labels, found.labels[:40])
    np.testing.assert_array_equal(other.scores, found.scores[:40])


def test_learned_weights_help_the_published_method(problem):
    name, train, (X, Y) = problem
    weights = LearnedWeights(n_jobs=-1).fit(*train)
    clf = SWNNClassifier(n_jobs=-1).fit(weights.transform(train[0]), train[1])
    labels = clf.predict_topk(weights.transform(X), k=5).labels
    assert (precisions(Y, labels) >= np.asarray(PUBLISHED[name]) + 1 - SPREAD).all()
