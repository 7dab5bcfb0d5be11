"""Parameters that say how a query runs count from the next query on; nothing is baked in."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier
from swnn_xp.backends import numba_
from swnn_xp.backends.numpy_ import NumpyIndex
from swnn_xp.checks import check_threads

RNG = np.random.default_rng(8)
X = sp.random_array((300, 40), density=0.2, rng=RNG, format="csr")
Y = sp.random_array((300, 12), density=0.1, rng=RNG, format="csr") != 0
Q = X[:9]

QUERIES = {
    "kneighbors": lambda clf: clf.kneighbors(Q),
    "predict_topk": lambda clf: clf.predict_topk(Q),
    "predict_proba": lambda clf: clf.predict_proba(Q),
    "explain": lambda clf: clf.explain(Q[[0]], 1),
    "session": lambda clf: clf.session(),
    "partial_fit": lambda clf: clf.partial_fit(X[:1], Y[:1]),
    "compact": lambda clf: clf.compact(),
}
WRONG = {
    "n_jobs": (0, "n_jobs must be -1 or a whole number of at least 1, got 0"),
    "memory_budget": (0, "memory_budget must be a whole number of at least 1, got 0"),
    "backend": ("nonsense", "backend must be one of auto, numba.* got 'nonsense'"),
    "device": ("cuda:0", "runs on the CPU, not on device 'cuda:0'"),
}


@pytest.fixture(params=["fitted", "loaded"])
def clf(request, tmp_path):
    fitted = SWNNClassifier(n_neighbors=7).fit(X, Y)
    if request.param == "fitted":
        return fitted
    fitted.save(tmp_path / "model")
    return SWNNClassifier.load(tmp_path / "model")


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("query", QUERIES)
def test_wrong_values_are_refused_by_the_next_query(clf, name, query):
    value, message = WRONG[name]
    clf.set_params(**{name: value})
    with pytest.raises(ValueError, match=message) as caught:
        QUERIES[query](clf)
    assert "\n" not in str(caught.value)


def test_the_next_query_has_the_threads(clf, monkeypatch):
    used = []
    for name in ("search", "rank"):
        kernel = getattr(numba_, name)

        def counted(*args, n_jobs, kernel=kernel, **kwargs):
            used.append(n_jobs)
            return kernel(*args, n_jobs=n_jobs, **kwargs)

        monkeypatch.setattr(numba_, name, counted)
    for n_jobs in (1, 3, None):
        clf.set_params(n_jobs=n_jobs)
        clf.kneighbors(Q)
        clf.predict_topk(Q)
    assert used == [1, 1, 3, 3, 1, 1]


def test_all_cores_are_those_the_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 5, 6})
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert check_threads(-1) == 3
    with pytest.raises(ValueError, match="n_jobs must be -1 or"):
        check_threads(-2)


def test_the_next_query_has_the_budget():
    clf = SWNNClassifier(n_neighbors=7, backend="numpy").fit(X, Y)
    (index,) = clf.model_.segments

    def n_runs():
        return len(index._cache._made[1])

    whole = clf.predict_topk(Q)
    assert n_runs() == 1
    kept = index._cache._made
    clf.kneighbors(Q)
    assert index._cache._made is kept, "runs of rows are remembered"
    clf.set_params(memory_budget=100_000)
    for one, other in zip(clf.predict_topk(Q), whole, strict=True):
        np.testing.assert_array_equal(one, other)
    assert n_runs() > 3
    assert clf.model_.segments == (index,), "the index itself stays"


def test_another_backend_takes_the_model_over_once(clf, monkeypatch):
    clf.partial_fit(X[:20], Y[:20]).remove([3, 305])
    before = clf.kneighbors(Q), clf.predict_topk(Q)
    built = []
    build = NumpyIndex.build.__func__
    monkeypatch.setattr(
        NumpyIndex, "build", classmethod(lambda cls, *a: built.append(a) or build(cls, *a))
    )
    clf.set_params(backend="numpy")
    for _ in range(3):
        for old, new in zip(before, (clf.kneighbors(Q), clf.predict_topk(Q)), strict=True):
            for one, other in zip(old, new, strict=True):
                np.testing.assert_array_equal(one, other)
    assert len(built) == len(clf.model_.segments) == 2
    assert clf.backend_ == "numpy"
    clf.set_params(backend="auto").kneighbors(Q)
    assert clf.backend_ == "numpy", "auto leaves the model where it is"
    clf.set_params(backend="numba", device="cpu").kneighbors(Q)
    assert clf.backend_ == "numba"


def test_a_session_refuses_another_backend(clf):
    session = clf.session()
    clf.set_params(backend="numpy").kneighbors(Q)
    with pytest.raises(ValueError, match="a session needs the backend 'numba', not 'numpy'"):
        session.predict_one([1], [1.0])
    clf.set_params(backend="numba").kneighbors(Q)
    assert session.predict_one([1], [1.0]).labels.shape == (5,)


def test_a_move_does_not_undo_the_change_of_another_thread(clf, monkeypatch):
    """The rows are appended while a query is building the model for another backend."""
    build = NumpyIndex.build.__func__

    def slow(cls, *args):
        if clf.n_samples_fit_ == 300:
            monkeypatch.setattr(NumpyIndex, "build", classmethod(build))
            SWNNClassifier.partial_fit(clf, X[:5], Y[:5])
        return build(cls, *args)

    monkeypatch.setattr(NumpyIndex, "build", classmethod(slow))
    clf.set_params(backend="numpy").kneighbors(Q)
    assert clf.n_samples_fit_ == 305
    assert clf.kneighbors(Q, n_neighbors=1).ids.tolist() == [[i] for i in range(9)]


def test_a_misspelt_parameter_of_load_is_named(tmp_path):
    SWNNClassifier().fit(X, Y).save(tmp_path)
    with pytest.raises(ValueError, match="no parameter 'n_neighbours'; there are n_neighbors") as e:
        SWNNClassifier.load(tmp_path, n_neighbours=5)
    assert "manifest" not in str(e.value)


@pytest.mark.parametrize("device", [np.zeros(2), "cuda:0", 0, ["cpu"]])
def test_the_host_has_one_device(device):
    with pytest.raises(ValueError, match="runs on the CPU, not on device"):
        SWNNClassifier(device=device).fit(X, Y)
