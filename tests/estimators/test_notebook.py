"""What notebooks show: well-formed HTML without scripts, with everything escaped."""

import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from swnn_xp import SWNNClassifier, SWNNRanker
from swnn_xp import progress as _progress
from swnn_xp.tuning import RankingSetting, Setting, tune, tune_ranking

X = np.asarray([[1.0, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]] * 5)
Y = np.asarray([[1, 0], [0, 1], [1, 0], [0, 1]] * 5)
NAMES = {
    "label_names": ["<web>", "mail"],
    "feature_names": ["sun & sea", "ice", "fog"],
    "row_names": [f"<row {i}>" for i in range(20)],
}


def shown(thing):
    text = thing._repr_html_()
    assert "<script" not in text
    assert "http" not in text
    return ET.fromstring(text), text


@pytest.mark.parametrize("kind", [SWNNClassifier, SWNNRanker])
def test_estimators_and_explanations(kind):
    _, text = shown(kind(n_neighbors=12))
    assert f"{kind.__name__}, not fitted" in text
    assert "n_neighbors" in text
    assert "memory_budget" not in text, "only what differs from the default"
    clf = kind(n_neighbors=12).fit(X, Y, **NAMES)
    _, text = shown(clf)
    assert "training rows" in text
    told = clf.explain(X[0], "<web>")
    page, text = shown(told)
    svg = page.find("svg")
    assert len(svg.findall("g")) == min(len(told.voters), 8)
    assert "&lt;web&gt;" in text
    assert "sun &amp; sea" in text
    assert f"and {len(told.voters) - 8} more" in text
    assert f"{told.probability:.1%}" in text


def test_tuning_results():
    result = tune(X, Y, grid=[Setting(1, 1.0, 1.0), Setting(3, 1.0, 1.0)])
    _, text = shown(result)
    assert text.count("(chosen)") == 1
    assert "the best measured" in text
    _, text = shown(tune_ranking(X, Y, grid=[RankingSetting(3, 0.2, 0.5)]))
    assert "vote_weight=0.5" in text


def test_progress_in_a_notebook(monkeypatch):
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(_progress.sys, "stderr", stream)
    monkeypatch.setattr(_progress, "_QUIET_SECONDS", -1.0)
    monkeypatch.setattr(_progress, "_REDRAW_SECONDS", -1.0)
    bar = _progress.ProgressLine(4, "rows")
    bar.show(2)
    bar.close()
    assert "rows: 2/4" in stream.getvalue()
    assert "\x1b" not in stream.getvalue(), "notebooks know no such codes"
