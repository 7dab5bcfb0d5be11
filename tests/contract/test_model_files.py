"""A model that was saved and opened again answers as before."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier
from swnn_xp.backends import BACKENDS
from swnn_xp.store import StoreError

RNG = np.random.default_rng(2)
X = sp.random_array((120, 30), density=0.2, rng=RNG, format="csr")
Y = sp.random_array((120, 12), density=0.2, rng=RNG, format="csr") != 0


def check_same(one, other):
    for a, b in zip(one.predict_topk(X, 5), other.predict_topk(X, 5), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(one.kneighbors(X), other.kneighbors(X), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mmap", [True, False])
def test_round_trip(classifier, tmp_path, mmap):
    names = [f"label {i}" for i in range(12)]
    clf = classifier(n_neighbors=np.int64(7), alpha=0.0, beta=2.0).fit(X, Y, label_names=names)
    clf.save(tmp_path / "model")
    again = SWNNClassifier.load(tmp_path / "model", mmap=mmap, verify=True)
    assert (again.n_neighbors, again.alpha, again.beta) == (7, 0.0, 2.0)
    assert again.label_names_ == names
    assert again.feature_names_ is None
    check_same(clf, again)


def test_other_backends_open_it(classifier, tmp_path):
    clf = classifier(n_neighbors=7).fit(X, Y)
    clf.save(tmp_path / "model")
    for name in ("numpy", "numba"):
        assert BACKENDS[name].unusable() is None
        other = SWNNClassifier.load(tmp_path / "model", backend=name)
        assert other.backend_ == name
        check_same(clf, other)


def test_live_changes_are_saved(classifier, tmp_path):
    clf = classifier(n_neighbors=7).fit(X[:100], Y[:100])
    clf.partial_fit(X[100:], Y[100:]).remove([3, 5, 110])
    clf.save(tmp_path / "model")
    again = SWNNClassifier.load(tmp_path / "model")
    check_same(clf, again)
    again.partial_fit(X[:1], Y[:1])
    assert again.model_.next_id == 121
    again.save(tmp_path / "model")  # over the folder it is mapped from
    check_same(again, SWNNClassifier.load(tmp_path / "model"))


def test_parameters_can_be_replaced(classifier, tmp_path):
    classifier(n_neighbors=7).fit(X, Y).save(tmp_path / "model")
    assert SWNNClassifier.load(tmp_path / "model", n_neighbors=3).n_neighbors == 3
    with pytest.raises(ValueError, match="n_neighbors must be"):
        SWNNClassifier.load(tmp_path / "model", n_neighbors=0)


def test_foreign_folders_are_refused(classifier, tmp_path):
    with pytest.raises(StoreError, match="manifest"):
        SWNNClassifier.load(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps({"format": "something else"}))
    with pytest.raises(StoreError, match="manifest"):
        SWNNClassifier.load(tmp_path)
