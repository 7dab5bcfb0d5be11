"""`make bench-quality`: a run with what the test environment has, the file of figures, the page."""

import importlib
import json
import sys

import numpy as np
import pytest
from benchmarks.loading import ASV

MODULES = ("adapters", "assess", "environments", "install", "measure", "page", "problem")
MODULES += ("process", "recorded", "report", "results", "run_all")


class Options:
    queries, cpu_seconds = 5, 300
    again = False
    datasets, only = ["debtags"], ["swnn_classifier"]


@pytest.fixture(autouse=True)
def on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ASV / "peers"))
    monkeypatch.syspath_prepend(str(ASV / "quality"))


@pytest.fixture
def run_all(monkeypatch):
    """The runner, with few rows of the data set."""
    module = importlib.import_module("run_all")
    whole = module.Problem.load

    def few(name):
        problem = whole(name)
        problem.X_train, problem.y_train = problem.X_train[:1500], problem.y_train[:1500]
        problem.X_test, problem.y_test = problem.X_test[:200], problem.y_test[:200]
        return problem

    monkeypatch.setattr(module.Problem, "load", few)
    return module


@pytest.fixture
def command(run_all, monkeypatch, tmp_path):
    """The command, with files of figures of its own and what a peer's run gives."""
    files = tmp_path / "docs" / "quality.json", tmp_path / "build" / "quality.json"
    monkeypatch.setattr(run_all, "FILE", files[0])
    monkeypatch.setattr(run_all, "OWN", files[1])
    results = importlib.import_module("results").Results(files[0])
    results.put(row("swnn_ranker", **{"P@1": 61.0}))
    results.put(row("omikuji_parabel"))

    def run(*arguments, **measured):
        def run_peer(name, dataset, options, folder):
            return measured[name]

        monkeypatch.setattr(run_all, "run_peer", run_peer)
        monkeypatch.setattr(sys, "argv", ["run_all.py", "bibtex", *arguments])
        run_all.main()

    run.files = files
    return run


@pytest.fixture
def results(tmp_path):
    return importlib.import_module("results").Results(tmp_path / "data" / "quality.json")


def row(peer="omikuji_parabel", **more):
    names = ("P@1", "P@3", "P@5", "nDCG@5", "RP@5", "PSP@1", "PSP@3", "PSP@5")
    figures = dict.fromkeys(names, 50.0) | {"train_s": 12.34, "ms_per_query": 0.5, "model_mb": 1e4}
    facts = {"dataset": "bibtex", "peer": peer, "title": "omikuji", "note": "defaults"}
    facts |= {"date": "2026-11-16", "machine": "a machine", "version": "0.5", "test_rows": 2515}
    return facts | figures | more


def failure(peer="omikuji_parabel", **more):
    return {
        key: row(peer)[key] for key in ("dataset", "peer", "title", "note", "date", "machine")
    } | more


def test_a_run_measures_and_is_not_repeated(run_all, results, monkeypatch):
    from swnn_xp import SWNNClassifier
    from swnn_xp.metrics import precision_at_k, r_precision_at_k

    run_all.measure(Options, results)
    found = results.rows["debtags", "swnn_classifier"]
    assert "failed" not in found
    problem = run_all.Problem.load("debtags")
    labels = SWNNClassifier().fit(problem.X_train, problem.y_train).predict_topk(problem.X_test)[0]
    truth = problem.y_test
    assert found["P@3"] == pytest.approx(100 * precision_at_k(truth, labels, 3), abs=1e-3)
    assert found["RP@5"] == pytest.approx(100 * r_precision_at_k(truth, labels, 5), abs=1e-3)
    assert found["test_rows"] == 200
    assert min(found["train_s"], found["ms_per_query"], found["model_mb"]) > 0
    monkeypatch.setattr(run_all, "run_peer", None)  # a second run would fail
    run_all.measure(Options, results)
    again = type(results)(results.path)
    assert again.rows == results.rows


def test_only_what_was_measured_now_is_a_table(command, capsys):
    kept = command.files[0].read_text()
    ranker = row("swnn_ranker", **{"P@1": 67.0})
    command("--only", "swnn_ranker", "omikuji_parabel",
            swnn_ranker=ranker, omikuji_parabel=failure(failed="not installed"))  # fmt: skip
    printed = capsys.readouterr().out
    assert "| swnn_xp, ranking | 67.00 |" in printed, "alone, none is the best"
    assert "| omikuji |" not in printed
    assert "\n\nNot measured now, from the repository: bibtex omikuji.\n" in printed
    assert command.files[0].read_text() == kept, "the repository's figures need WRITE=1"
    assert json.loads(command.files[1].read_text()) == [ranker], (
        "what is not installed is no figure"
    )
    omikuji = row("omikuji_parabel")
    command("--only", "swnn_ranker", "omikuji_parabel", omikuji_parabel=omikuji)
    assert "Not measured now, measured here before: bibtex swnn_xp, ranking." in (
        capsys.readouterr().out
    )


def test_a_run_that_measures_nothing_fails(command, capsys):
    with pytest.raises(SystemExit, match="nothing was measured: each run failed.*docs/method/data"):
        command("--only", "swnn_ranker", swnn_ranker=failure("swnn_ranker", failed="no data"))
    assert capsys.readouterr().out == (
        "Not measured now, from the repository: bibtex swnn_xp, ranking.\n"
    )
    command("--only", "swnn_ranker", swnn_ranker=row("swnn_ranker"))
    with pytest.raises(SystemExit, match=r"quality\.json has all of it already; AGAIN=1"):
        command("--only", "swnn_ranker")


def test_what_is_not_there_yet_is_reported(run_all, monkeypatch, tmp_path):
    peer = importlib.import_module("adapters.swnn_ranker").Peer
    monkeypatch.setattr(peer, "needs", "NoSuchEstimator")
    found = run_all.run_peer("swnn_ranker", "debtags", Options, tmp_path)
    assert found["failed"] == "not available: swnn_xp has no NoSuchEstimator"


def test_a_missing_data_set_is_reported(run_all, tmp_path):
    assert (
        "no-such-set"
        in run_all.run_peer("swnn_classifier", "no-such-set", Options, tmp_path)["failed"]
    )


def test_only_failures_are_run_again(results):
    assert not results.settled("bibtex", "omikuji_parabel", 100)
    results.put(failure(failed="not installed"))
    assert not results.settled("bibtex", "omikuji_parabel", 100)
    results.put(failure(failed="not done", limit_s=100))
    assert results.settled("bibtex", "omikuji_parabel", 100)
    assert not results.settled("bibtex", "omikuji_parabel", 200)
    results.put(row())
    results.put(failure(failed="not installed"))
    assert "failed" not in results.rows["bibtex", "omikuji_parabel"]
    assert json.loads(results.path.read_text()) == [row()]


def test_the_table_marks_the_best_and_lists_failures(on_path):
    page = importlib.import_module("page")
    rows = [row(), row("napkinxc_plt") | {"P@1": 60.0}, failure("napkinxc_br", failed="too slow")]
    lines = page.table(rows).splitlines()
    assert "| omikuji | 50.00 | **50.00** |" in lines[2]
    assert lines[2].endswith("| 12.3 | 0.500 | 10,000.0 |")
    assert "| **60.00** |" in lines[3]
    assert lines[4:] == ["", "- napkinXC BR: too slow"]
    assert len({line.count("|") for line in lines[:4]}) == 1


def test_rows_on_a_part_of_a_test_set_are_named(on_path):
    not_whole = importlib.import_module("results").not_whole
    rows = [row(), row("napkinxc_plt", test_rows=100), failure("napkinxc_br", failed="too slow")]
    assert not_whole(rows, {"bibtex": 2515}) == (
        " Not yet on the whole test set: bibtex napkinxc_plt: 100 test rows."
    )
    assert not_whole(rows[:1], {"bibtex": 2515}) == ""


def test_a_peer_that_would_take_too_long_is_stopped(on_path, monkeypatch):
    base = importlib.import_module("adapters.base")
    monkeypatch.setattr(base.resource, "getrlimit", lambda _: (100, 110))
    base.refuse_beyond_limit(1.0, 10, 1000)
    with pytest.raises(
        base.TooSlow, match="about 200 CPU seconds of training, projected from 5 of"
    ):
        base.refuse_beyond_limit(1.0, 5, 1000)


def test_one_vs_rest_is_that_of_scikit_learn(run_all):
    """LIBLINEAR itself is optional; what is done with its weights is not."""
    pytest.importorskip("liblinear", reason="liblinear-official is not installed")
    from sklearn.svm import LinearSVC

    problem = run_all.Problem.load("debtags")
    frequent = np.argsort(-problem.y_train.sum(axis=0))[:5]
    X, Y, queries = problem.X_train, problem.y_train[:, frequent].tocsr(), problem.X_test[:50]
    peer = importlib.import_module("adapters.liblinear_ovr").Peer()
    peer.prepare(X, Y)
    peer.build(X, Y, 5)
    labels, scores = peer.ask_many(peer.ready_many(queries))
    by_label = np.take_along_axis(scores, np.argsort(labels, axis=1), axis=1)
    for label in range(5):
        other = LinearSVC(C=1.0, dual=True).fit(X, Y[:, [label]].toarray().ravel())
        # LIBLINEAR's own tolerance is 0.1.
        np.testing.assert_allclose(by_label[:, label], other.decision_function(queries), atol=0.1)


def teardown_module():
    for name in list(sys.modules):
        if name.split(".")[0] in MODULES:
            sys.modules.pop(name)
