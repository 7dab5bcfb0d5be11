"""Precision on real data, as measured independently; left out where the data is absent."""

from pathlib import Path

import numpy as np
import pytest

from swnn_xp import SWNNClassifier, metrics, read_xmc

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"left out: no real data sets at ../{DATA.parent.name}/{DATA.name}"
)

EXPECTED = [
    ("bibtex", 25, 1, 1, (57.89, 34.41, 25.57)),
    ("bibtex", 25, 1, 0, (57.61, 34.35, 25.42)),
    ("delicious", 25, 1, 1, (64.99, 59.58, 55.07)),
    ("delicious", 75, 1, 0, (62.92, 57.22, 52.45)),
    ("citeulike-t", 25, 1, 1, (62.29, 45.28, 36.55)),
    ("citeulike-t", 75, 2, 1, (62.30, 44.94, 36.23)),
    ("eurlex57k", 25, 1, 1, (87.93, 75.75, 63.13)),
]
MAX_P = {
    "bibtex": (100, 66.41, 46.18),
    "delicious": (99.87, 99.68, 99.25),
    "citeulike-t": (100, 98.18, 92.81),
    "eurlex57k": (100, 97.78, 87.40),
}


@pytest.fixture(scope="module")
def load():
    kept = {}

    def read(name):
        if name not in kept:
            kept.clear()
            kept[name] = [read_xmc(DATA / name / f"{part}.txt.xz") for part in ("train", "test")]
        return kept[name]

    return read


@pytest.mark.parametrize(("name", "S", "alpha", "beta", "expected"), EXPECTED)
def test_precision(load, name, S, alpha, beta, expected):
    train, (X, Y) = load(name)
    labels = SWNNClassifier(S, alpha, beta, n_jobs=-1).fit(*train).predict_topk(X, k=5).labels
    found = [100 * metrics.precision_at_k(Y, labels, k) for k in (1, 3, 5)]
    assert found == pytest.approx(expected, abs=0.006)
    best = [100 * metrics.max_precision_at_k(Y, k) for k in (1, 3, 5)]
    assert best == pytest.approx(MAX_P[name], abs=0.006)


@pytest.mark.parametrize("name", ["bibtex", "delicious", "citeulike-t"])
@pytest.mark.parametrize("beta", [0, 1])
def test_backends_agree_to_the_bit(load, name, beta):
    train, (X, _) = load(name)
    found = [
        SWNNClassifier(25, 1, beta, backend=backend).fit(*train).kneighbors(X[:300])
        for backend in ("numpy", "numba")
    ]
    np.testing.assert_array_equal(found[0].ids, found[1].ids)
    np.testing.assert_array_equal(found[0].similarities, found[1].similarities)
