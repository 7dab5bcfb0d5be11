"""While the kernels are being compiled NumPy answers: the same bits before and after the switch."""

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_kernels import background
from swnn_xp import SWNNClassifier, SWNNRanker
from swnn_xp.backends import Settings, _stand_in
from swnn_xp.cli.evaluate import report
from swnn_xp.model.stand_in import StandInSession

RNG = np.random.default_rng(3)
N, WIDTH = 300, 30
# Few distinct values, so that similarities tie.
X = sp.csr_array((RNG.random((N, WIDTH)) < 0.3) * RNG.integers(1, 3, (N, WIDTH)))
Y = sp.csr_array((RNG.random((N, 9)) < 0.3).astype(np.int8))


SETTINGS = Settings(7, 1.0, 1.0)


class Compiler:
    """Becomes ready after some questions."""

    def __init__(self, asked):
        self.left = asked

    def is_ready(self):
        self.left -= 1
        return self.left < 0


@pytest.fixture
def compiling(monkeypatch):
    """Pretend that the kernels will be ready after some questions."""

    def set_up(asked):
        compiler = Compiler(asked)
        monkeypatch.setattr(_stand_in, "SEARCHES", compiler)
        monkeypatch.setattr("swnn_xp.model.session.SEARCHES", compiler)
        return compiler

    return set_up


def fitted(kind):
    clf = SWNNClassifier(n_neighbors=7) if kind == "plain" else SWNNRanker(n_neighbors=7)
    return clf.fit(X[:200], Y[:200]).partial_fit(X[200:210], Y[200:210]).remove([3, 205])


@pytest.mark.parametrize("kind", ["plain", "ranked"])
@pytest.mark.parametrize("asked", [1, 3, 10**6])
def test_batches_are_the_same_bits_whoever_answers(kind, asked, compiling):
    clf = fitted(kind)
    compact = fitted(kind).compact()
    wanted = [(each.predict_topk(X, k=4), each.kneighbors(X)) for each in (clf, compact)]
    compiling(asked)
    for each, (ranking, found) in zip((clf, compact), wanted, strict=True):
        for here, there in ((each.predict_topk(X, k=4), ranking), (each.kneighbors(X), found)):
            assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))


@pytest.mark.parametrize("kind", ["plain", "ranked"])
@pytest.mark.parametrize("segments", [1, 2])
def test_sessions_switch_in_the_middle(kind, segments, compiling):
    clf = fitted(kind) if segments == 2 else fitted(kind).compact()
    queries = [(X[[i]].indices, X[[i]].data) for i in range(20)]
    session = clf.session()
    wanted = [(session.predict_one(*query), session.kneighbors_one(*query)) for query in queries]
    compiling(30)
    session = clf.session()
    kinds = []
    for query, answers in zip(queries, wanted, strict=True):
        for here, there in zip(
            (session.predict_one(*query), session.kneighbors_one(*query)), answers, strict=True
        ):
            assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))
        kinds.append(isinstance(session._sessions[0], StandInSession))
    assert kinds[0]
    assert not kinds[-1]


def test_a_session_with_a_budget_waits_for_the_kernels(compiling):
    compiling(10**6)
    session = fitted("plain").session(budget=5)
    assert not isinstance(session._sessions[0], StandInSession)


@pytest.mark.parametrize(
    ("indices", "values"),
    [([1, 0], [1, 1]), ([0, 0], [1, 1]), ([-1], [1]), ([WIDTH], [1]), ([0], [np.inf]), ([0], [])],
)
def test_bad_rows_are_refused_alike(indices, values, compiling):
    clf = fitted("plain")
    with pytest.raises(ValueError, match="must be") as by_kernels:
        clf.session().predict_one(indices, values)
    compiling(10**6)
    with pytest.raises(ValueError, match="must be") as by_numpy:
        clf.session().predict_one(indices, values)
    assert str(by_numpy.value) == str(by_kernels.value)


def test_zeros_and_empty_rows_are_answered_alike(compiling):
    clf = fitted("plain").compact()
    rows = [([], []), ([2, 5], [0.0, 1.0]), ([2], [0.0])]
    wanted = [clf.session().predict_one(*row) for row in rows]
    compiling(10**6)
    for row, there in zip(rows, wanted, strict=True):
        here = clf.session().predict_one(*row)
        assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))


def test_a_large_index_is_not_copied(compiling, monkeypatch):
    monkeypatch.setattr(_stand_in, "_LARGE", 10)
    compiling(10**6)
    assert fitted("plain").model_.segments[0].stand_in(SETTINGS) is None


@pytest.mark.parametrize("exponents", [(0.5, 1.0), (1.0, 1.5)])
def test_powers_that_differ_between_libraries_wait_for_the_kernels(exponents, compiling):
    index = fitted("plain").model_.segments[0]
    compiling(10**6)
    assert index.stand_in(SETTINGS) is not None
    assert index.stand_in(Settings(7, *exponents)) is None


def test_no_speed_is_reported_while_the_kernels_are_compiled(compiling):
    clf = fitted("plain")
    background.SEARCHES, kept = compiling(10**6), background.SEARCHES
    try:
        assert "speed    not measured" in report(clf, X, Y)
    finally:
        background.SEARCHES = kept
    assert "rows/s" in report(clf, X, Y)


def test_the_copy_is_freed_once_the_kernels_are_ready(compiling):
    clf = fitted("plain")
    compiling(1)
    index = clf.model_.segments[0]
    assert index.stand_in(SETTINGS) is not None
    assert index.stand_in(SETTINGS) is None
    assert index._stand_in._copy is None


def test_the_compiler_starts_one_process_and_ends_waiting_with_it(monkeypatch, tmp_path):
    monkeypatch.setenv("SWNN_BACKGROUND_COMPILE", "1")
    monkeypatch.setattr(background, "_needs_no_start", lambda: False)
    monkeypatch.setattr(background, "is_kept", lambda kernel: False)
    monkeypatch.setattr(background, "_PROGRAM", "no_such_module")
    compiler = background.BackgroundCompiler()
    assert not compiler.is_ready()
    child = compiler._child
    child.wait()
    assert compiler.is_ready()  # it failed: the next search compiles
    assert compiler._child is child


def test_an_application_with_python_inside_does_not_start_itself(monkeypatch):
    monkeypatch.setattr(background, "_needs_no_start", lambda: False)
    monkeypatch.setattr(background.sys, "executable", "/opt/application")
    assert background.BackgroundCompiler().is_ready()
