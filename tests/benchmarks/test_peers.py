"""The comparison with peers: those that the test environment has anyway, and the report."""

import importlib
import re
import sys
import tomllib

import numpy as np
import pytest
from benchmarks.loading import ASV

PEERS = ASV / "peers"


def name_of(requirement):
    """The normalised name of a package in a requirement."""
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower().replace("_", "-")


@pytest.fixture(autouse=True)
def on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(PEERS))


@pytest.fixture
def problem(on_path):
    Problem = importlib.import_module("problem").Problem
    problem = Problem.load("debtags", 20)
    problem.X_train, problem.y_train = problem.X_train[:1500], problem.y_train[:1500]
    return problem


def test_every_adapter_has_the_interface(on_path):
    adapters = importlib.import_module("adapters")
    base = importlib.import_module("adapters.base")
    on_disk = {path.stem for path in (PEERS / "adapters").glob("*.py")} - {"__init__", "base"}
    names = {*adapters.ALL, *adapters.RANKING}
    assert on_disk == names
    for name in names:
        peer = importlib.import_module(f"adapters.{name}").Peer()
        assert isinstance(peer, base.Peer)
        assert peer.kind in ("retrieval", "classifier")
        assert peer.title
        assert peer.package
        assert peer.module


@pytest.mark.parametrize("name", ["swnn_session", "scipy_matmul", "sklearn_neighbors"])
def test_exact_peers_find_the_best_rows(problem, name):
    measure = importlib.import_module("measure").measure
    peer = importlib.import_module(f"adapters.{name}").Peer()
    result = measure(peer, problem, 10)
    assert result["recall"] == 1.0
    assert result["ms_per_query"] > 0
    ids, _ = peer.ask_many(peer.ready_many(problem.queries))
    one, _ = peer.ask_one(peer.ready_one(problem.queries[3:4]))
    assert problem.recall(np.repeat(one, 20, axis=0)) < 1.0  # of the other queries they are not
    assert set(one[0]) == set(ids[3])


def test_recall_counts_what_is_missing(problem):
    best = np.argsort(-problem.cosines, axis=1, kind="stable")[:, :10]
    assert problem.recall(best) == 1.0
    best[:, 5:] = -1
    assert problem.recall(best) == 0.5


def test_precision_is_that_of_the_library(problem):
    from swnn_xp.metrics import precision_at_k

    labels = np.random.default_rng(0).integers(0, problem.y_test.shape[1], (50, 5))
    mine = problem.precision(labels)
    theirs = [100 * precision_at_k(problem.y_test[:50], labels, k) for k in (1, 3, 5)]
    np.testing.assert_allclose(mine, theirs)


def test_a_saved_problem_is_the_same(problem, tmp_path):
    problem.save(tmp_path / "debtags")
    again = type(problem).open(tmp_path / "debtags", 20)
    for name in ("X_train", "y_train", "X_test", "y_test", "queries"):
        one, other = getattr(problem, name), getattr(again, name)
        assert one.dtype == other.dtype
        assert (one != other).nnz == 0


def test_contradicting_peers_run_elsewhere(on_path, monkeypatch, tmp_path):
    """PECOS needs numpy<2, this library needs numpy>=2."""
    environments = importlib.import_module("environments")
    monkeypatch.setattr(environments, "OWN", tmp_path)
    pecos = importlib.import_module("adapters.pecos_xr_linear").Peer()
    assert environments.python_of(pecos) == str(tmp_path / "libpecos" / "bin" / "python")
    assert pecos.missing() == "libpecos not installed"
    shared = importlib.import_module("adapters.scipy_matmul").Peer()
    assert environments.python_of(shared) == sys.executable
    assert shared.missing() is None


def test_every_shared_peer_is_in_the_extra(on_path):
    """`pip install '.[peers]'` gives what `make bench-peers` and `bench-quality` install."""
    extras = tomllib.loads((ASV.parent / "pyproject.toml").read_text())["project"]
    listed = {name_of(line) for line in extras["optional-dependencies"]["peers"]}
    adapters = importlib.import_module("adapters")
    names = {*adapters.ALL, *adapters.RANKING}
    peers = [importlib.import_module(f"adapters.{name}").Peer for name in names]
    shared = {name_of(peer.package) for peer in peers if not peer.own_requirements}
    assert shared - {"swnn-xp", "scipy"} == listed - {"swnn-xp"}
    assert not listed & {name_of(peer.package) for peer in peers if peer.own_requirements}


def test_a_peer_that_is_missing_or_breaks_is_reported(on_path, monkeypatch, tmp_path):
    compare = importlib.import_module("compare")
    options = type("Options", (), {"queries": 5, "answers": 3, "cpu_seconds": 100})
    peer = importlib.import_module("adapters.vsag_sindi").Peer
    monkeypatch.setattr(peer, "module", "no_such_module_anywhere")
    missing = compare.run_peer("vsag_sindi", "debtags", options, tmp_path)
    assert "failed" in missing
    broken = compare.run_peer("scipy_matmul", "no-such-set", options, tmp_path)
    assert "no-such-set" in broken["failed"]


def test_the_table_has_ratios_and_failures(on_path):
    report = importlib.import_module("report")
    ours = {"title": "ours", "ms_per_query": 1.0, "queries_per_s": 1e3, "build_s": 2.0}
    ours |= {"memory_mb": 10.0, "recall": 1.0, "precision": [1.0, 2.0, 3.0], "note": ""}
    other = ours | {"title": "other", "ms_per_query": 2.5}
    lines = report.table([ours, other, {"title": "none", "failed": "did not install"}]).splitlines()
    assert "2.500 (2.50x)" in lines[3]
    assert lines[4].endswith("| did not install |")
    assert len({line.count("|") for line in lines}) == 1


def teardown_module():
    for name in ("compare", "environments", "install", "measure", "problem", "process", "report"):
        sys.modules.pop(name, None)
