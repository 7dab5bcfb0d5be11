"""A fitted model can be pickled and copied, on every backend, in whatever state it is."""

import copy
import gc
import io
import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier

RNG = np.random.default_rng(6)
X = sp.random_array((120, 30), density=0.2, rng=RNG, format="csr")
Y = sp.random_array((120, 12), density=0.2, rng=RNG, format="csr") != 0
NAMES = [f"label {i}" for i in range(12)]


def by_joblib(clf):
    file = io.BytesIO()
    joblib.dump(clf, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {
    "pickle": lambda clf: pickle.loads(pickle.dumps(clf)),
    "deepcopy": copy.deepcopy,
    "joblib": by_joblib,
}


def check_same(clf, copied, Q):
    assert copied.get_params() == clf.get_params()
    assert copied.label_names_ == NAMES
    assert copied.backend_ == clf.backend_
    for call in ("kneighbors", "predict_topk"):
        mine, its = getattr(clf, call)(Q), getattr(copied, call)(Q)
        for one, other in zip(mine, its, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("how", COPIES)
def test_copies_answer_alike(classifier, subject, how):
    fitted = classifier(n_neighbors=7).fit(X, Y, label_names=NAMES)
    clf = SWNNClassifier(7, backend=subject.backend)  # pickle finds classes by name only
    Q = X[:20]
    for change in (
        lambda: None,
        lambda: fitted.partial_fit(X[:9], Y[:9]),
        lambda: fitted.remove([3, 121]),
        lambda: fitted.compact(),
    ):
        change()
        clf._model = fitted.model_
        clf.predict_topk(Q)  # fills what a model remembers
        copied = COPIES[how](clf)
        check_same(clf, copied, Q)
        copied.partial_fit(X[:1], Y[:1])
        assert copied.n_samples_fit_ == clf.n_samples_fit_ + 1


@pytest.mark.parametrize("how", COPIES)
def test_copies_of_loaded_models(classifier, subject, tmp_path, how):
    classifier(n_neighbors=7).fit(X, Y, label_names=NAMES).remove([5]).save(tmp_path)
    clf = SWNNClassifier.load(tmp_path, backend=subject.backend)
    clf.predict_topk(X)
    copied = COPIES[how](clf)
    expected = clf.predict_topk(X)
    check_same(clf, copied, X)
    del clf
    gc.collect()  # a copy must not follow addresses of the original
    for one, other in zip(copied.predict_topk(X), expected, strict=True):
        np.testing.assert_array_equal(one, other)
