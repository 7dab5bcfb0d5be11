"""Rows of promises that come from what other commands have written."""

import json

import figure_promises
import pytest

SUITES = '<testsuites><testsuite tests="120" skipped="7" failures="{}" errors="0"/></testsuites>'


def test_tests_are_counted(tmp_path):
    (tmp_path / "test.xml").write_text(SUITES.format(0))
    said = figure_promises.suite(tmp_path / "test.xml")
    assert said == "113 tests pass, 7 are left out for lack of what they need"


def test_a_run_with_failures_is_no_proof(tmp_path):
    (tmp_path / "test.xml").write_text(SUITES.format(2))
    with pytest.raises(ValueError, match="2 tests have failed"):
        figure_promises.suite(tmp_path / "test.xml")


def test_latency_is_told_beside_the_loop(tmp_path):
    rows = [
        {"dataset": "a", "S": 25, "beta": 1, "ratio": 2.0},
        {"dataset": "b", "S": 25, "beta": 1, "ratio": 4.25},
        {"dataset": "b", "S": 75, "beta": 1, "ratio": 9.0},
    ]
    (tmp_path / "latency.json").write_text(json.dumps(rows))
    assert figure_promises.latency(tmp_path) == (
        "2.0 to 4.2 times the speed of that loop (S = 25, β = 1): a 2.0, b 4.2"
    )


def test_quality_is_told_beside_the_best_other(tmp_path):
    rows = [
        {"dataset": "a", "peer": "swnn_ranker", "P@1": 67.674, "P@5": 30.0},
        {"dataset": "a", "peer": "swnn_weights", "P@1": 99.0, "P@5": 99.0},
        {"dataset": "a", "peer": "one", "P@1": 60.0, "P@5": 28.0},
        {"dataset": "a", "peer": "other", "P@1": 61.0, "P@5": 27.0},
        {"dataset": "b", "peer": "one", "failed": "too slow"},
    ]
    (tmp_path / "quality.json").write_text(json.dumps(rows))
    assert figure_promises.quality(tmp_path) == (
        "P@1 and P@5, ours against the best other: a 67.67 against 61.00, 30.00 against 28.00"
    )


def test_the_figures_in_the_repository_make_rows():
    assert "eurlex57k" in figure_promises.latency()
    assert "eurlex57k" in figure_promises.quality()
