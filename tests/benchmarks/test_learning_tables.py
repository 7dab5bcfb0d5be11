"""Compression, ablations and feature weights: short runs of the benchmarks, and their tables."""

import importlib.util
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.loading import ASV

from swnn_xp import SWNNClassifier, SWNNRanker, datasets
from swnn_xp.metrics import precision_at_k

BORROWED = "page", "problem", "recorded", "report", "results"


@pytest.fixture(scope="module")
def few():
    data = datasets.load("debtags")
    return SimpleNamespace(
        X_train=data.X_train[:300], y_train=data.y_train[:300],
        X_test=data.X_test[:50], y_test=data.y_test[:50],
    )  # fmt: skip


@pytest.fixture
def opened(monkeypatch, few, tmp_path):
    """A script of a folder, with few rows and an empty file of figures."""

    def opened(folder, script, *names):
        monkeypatch.setattr(sys, "path", sys.path[:])
        place = importlib.util.spec_from_file_location(script, ASV / folder / f"{script}.py")
        module = importlib.util.module_from_spec(place)
        place.loader.exec_module(module)
        monkeypatch.setattr(module.datasets, "load", lambda name, root: few)
        return module, module.Results(tmp_path / "figures.json", names)

    yield opened
    for name in BORROWED:
        sys.modules.pop(name, None)


def test_the_curve_is_measured_once_and_written(opened, few, monkeypatch):
    curve, results = opened("compression", "curve", "dataset", "method", "keep")
    monkeypatch.setattr(curve, "PARTS", (1.0, 0.1))
    monkeypatch.setattr(curve, "TIMED", 3)
    curve.measure("bibtex", results, again=False)
    assert {key[1:] for key in results.rows} == {
        (method, keep) for method in ("ranked", "as published") for keep in (1.0, 0.1)
    }
    small = results.rows["bibtex", "ranked", 0.1]
    clf = SWNNRanker(calibrate=False, keep=0.1).fit(few.X_train, few.y_train)
    wanted = 100 * precision_at_k(few.y_test, clf.predict_topk(few.X_test, k=5).labels, 5)
    assert (small["rows"], small["P@5"]) == (30, round(wanted, 2))
    monkeypatch.setattr(curve, "measured", None)  # nothing is left to measure
    curve.measure("bibtex", results, again=False)
    text = curve.curves(results)
    assert text.startswith("**bibtex**, 300 rows, 50 test rows:")
    assert f"/ {small['P@5']:.2f} |" in text


def test_ablations_change_one_thing_and_are_not_repeated(opened, few, monkeypatch):
    run, results = opened("ablations", "run", "dataset", "change")
    some = ("none", "no feature weights", "no cuts but the last", "S = 25")
    monkeypatch.setattr(run, "CHANGES", {title: run.CHANGES[title] for title in some})
    run.measure("bibtex", results, again=False)
    clf = SWNNRanker(calibrate=False).fit(few.X_train, few.y_train)
    base = results.rows["bibtex", "none"]
    labels = clf.predict_topk(few.X_test, k=5).labels
    assert base["P@5"] == pytest.approx(100 * precision_at_k(few.y_test, labels, 5), abs=1e-3)
    assert (base["S"], base["C"]) == (clf.n_neighbors_, pytest.approx(clf.C_, abs=1e-3))
    plain = SWNNRanker(calibrate=False, learn_weights=False).fit(few.X_train, few.y_train)
    labels = plain.predict_topk(few.X_test, k=1).labels
    found = results.rows["bibtex", "no feature weights"]["P@1"]
    assert found == pytest.approx(100 * precision_at_k(few.y_test, labels, 1), abs=1e-3)
    assert results.rows["bibtex", "S = 25"]["S"] == 25
    monkeypatch.setattr(run, "find", None)  # nothing is left to measure
    run.measure("bibtex", results, again=False)
    lines = run.table(results, "bibtex").splitlines()
    assert len(lines) == 2 + len(some)
    difference = results.rows["bibtex", "S = 25"]["P@1"] - base["P@1"]
    assert lines[-1].startswith(f"| S = 25 | {difference:+.2f} |")


def test_without_label_models_the_vote_score_ranks(opened, few):
    run, _ = opened("ablations", "run", "dataset", "change")
    found = run.find(few, weighted=False, centroids="auto")
    change = run.CHANGES["no label models: the vote score alone"]
    ranked = [
        run.ranked(found, change | {"C": C}, few.X_test, SWNNRanker().options)[0]
        for C in (change["C"], 1e-12, 1.0)
    ]
    assert np.array_equal(ranked[0], ranked[1])  # as if there were no models
    assert not np.array_equal(ranked[0], ranked[2])


def test_feature_weights_of_few_rows_are_measured(monkeypatch, few):
    monkeypatch.setattr(sys, "path", sys.path[:])
    path = ASV / "quality" / "weights_of_parts.py"
    place = importlib.util.spec_from_file_location("weights_of_parts", path)
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    plain, weighted = (module.figures(few, "bibtex", max_rows) for max_rows in (0, 100))
    clf = SWNNClassifier().fit(few.X_train, few.y_train)
    wanted = 100 * precision_at_k(few.y_test, clf.predict_topk(few.X_test, k=5).labels, 5)
    assert plain["P@5"] == round(wanted, 2)
    assert "train_s" not in plain
    assert "train_s" in weighted
    assert (weighted["max_rows"], weighted["default"]) == (100, False)
    for name in BORROWED:
        sys.modules.pop(name, None)


def test_seeds_have_their_lowest_and_highest(monkeypatch, few, tmp_path):
    monkeypatch.setattr(sys, "path", [str(ASV / "figures"), *sys.path])
    import tables

    rows = [
        {"dataset": "eurlex57k", "seed": s, "P@1": p, "P@3": p - 1, "P@5": p - 2}
        | {"date": f"2026-01-0{s + 1}", "machine": "2 cores of X, Linux"}
        for s, p in enumerate((92.5, 92.1, 92.3))
    ]
    monkeypatch.setattr(tables, "read", lambda name: rows)
    assert "| EURLEX57K | 3 | 92.10–92.50 | 91.10–91.50 | 90.10–90.50 |" in tables.seeds()
    wanted = "Measured on different days, 2026-01-01 to 2026-01-03, on 2 cores of X."
    assert tables.seeds().endswith(wanted)
    del rows[1:]
    assert tables.seeds().endswith("Measured 2026-01-01 on 2 cores of X.")
