"""`swnn demo`: what it prints is measured, and the package that it shows proves something."""

import contextlib
import io
import re
import sys

import pytest

from swnn_xp import SWNNClassifier, SWNNRanker, datasets, metrics
from swnn_xp.cli import demo
from swnn_xp.cli.main import main

DATA = datasets.load("debtags")


@pytest.fixture(scope="module")
def shown():
    """What the command prints, and the two models that it has trained."""
    models, measure = [], demo.latencies
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.setattr(demo, "latencies", lambda model, X: models.append(model) or measure(model, X))
        assert main(["demo", "--no-serve"]) == 0
    return out.getvalue(), models


def test_its_figures_are_measured(shown):
    out, models = shown
    assert [type(model) for model in models] == [SWNNClassifier, SWNNRanker]
    rows = re.findall(r"^neighbours vote.* ([\d.]+)% +[\d.]+ s +[\d.]+ ms$", out, re.MULTILINE)
    found = [model.predict_topk(DATA.X_test, k=1).labels for model in models]
    precisions = [metrics.precision_at_k(DATA.y_test, labels, 1) for labels in found]
    assert rows == [f"{100 * precision:.1f}" for precision in precisions]


def test_the_package_it_shows_is_like_no_training_row(shown):
    out, (_, ranker) = shown
    row = DATA.row_names_test.index(demo.SHOWN_PACKAGE)
    x = DATA.X_test[[row]]
    assert SWNNClassifier(n_neighbors=1).fit(DATA.X_train, DATA.y_train).kneighbors(x)[0] < 0.5
    best = ranker.topk_probabilities(x, k=5)
    expected = [
        (f"{p:.0%}", DATA.label_names[i], "right" if DATA.y_test[row, i] else "not among its tags")
        for i, p in zip(best.labels[0], best.probabilities[0], strict=True)
    ]
    assert re.findall(r"^ +(\d+%) +(\S+) +(right|not .*)$", out, re.MULTILINE) == expected
    assert "TODO" not in out
    why = re.search(r"Why (\S+)\?", out)[1]
    assert why in [name for _, name, _ in expected]
    first = ranker.explain(x, why).voters[0]
    assert f"such as {first.name} (" in out


def test_without_a_terminal_it_serves_no_page(monkeypatch, capsys):
    class Service:  # the extra may be missing here
        def __init__(self, *_, **__):
            raise AssertionError("served")

    module = type(sys)("swnn_xp.serve")
    module.Service = module.serve = Service
    monkeypatch.setitem(sys.modules, "swnn_xp.serve", module)
    demo._serve(None, 0)
    assert capsys.readouterr().out.strip().startswith("In a terminal, swnn demo then serves")


def test_without_the_extra_it_says_how_to_get_the_page(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name in [name for name in sys.modules if name.startswith("swnn_xp.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    demo._serve(None, 0)
    line = "To try any text on a page: pip install 'swnn-xp[serve]', then swnn demo again"
    assert capsys.readouterr().out.strip() == line
