"""The lines of predictions: one row of a table stays one line, whatever the names are."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, write_xmc
from swnn_xp.bulk.lines import FORMATS, LineWriter, choose_format
from swnn_xp.cli.main import main
from swnn_xp.results import Ranking

NAMES = ["two\nlines", "a\ttab", "a\rreturn", "a\\n backslash", "plain"]
BEST = Ranking(np.asarray([[0, 1, 2], [3, 4, -1]]), np.asarray([[3, 2, 1], [2, 1.5, 0]]))


def unescaped(field):
    letters = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
    text, at = "", 0
    while at < len(field):
        is_escape = field[at] == "\\"
        text += letters[field[at + 1]] if is_escape else field[at]
        at += 1 + is_escape
    return text


def test_tsv():
    lines = LineWriter(FORMATS["tsv"], NAMES).lines(7, BEST).split("\n")
    assert lines.pop() == ""
    fields = [line.split("\t") for line in lines]
    assert [field[:2] for field in fields] == [
        ["7", "1"],
        ["7", "2"],
        ["7", "3"],
        ["8", "1"],
        ["8", "2"],
    ]
    assert [unescaped(label) for _, _, label, _ in fields] == NAMES
    assert not any("\r" in line for line in lines)


def test_jsonl():
    text = LineWriter(FORMATS["jsonl"], NAMES).lines(7, BEST)
    records = [json.loads(line) for line in text.split("\n")[:-1]]
    assert records == [
        {"row": 7, "labels": [0, 1, 2], "scores": [3, 2, 1], "names": NAMES[:3]},
        {"row": 8, "labels": [3, 4], "scores": [2, 1.5], "names": NAMES[3:]},
    ]


def test_without_names():
    assert LineWriter(FORMATS["tsv"]).lines(0, BEST).startswith("0\t1\t0\t3\n0\t2\t1\t2\n")
    assert "names" not in LineWriter(FORMATS["jsonl"]).lines(0, BEST)


@pytest.mark.parametrize(
    ("output", "wanted", "expected"),
    [
        (None, None, "tsv"),
        (None, "jsonl", "jsonl"),
        ("a.jsonl", None, "jsonl"),
        ("a.jsonl", "tsv", "tsv"),
        ("a.txt", None, "tsv"),
    ],
)
def test_the_format_is_asked_for_or_by_suffix(output, wanted, expected):
    assert choose_format(output, wanted) is FORMATS[expected]


def test_predict_keeps_any_name_in_one_field(tmp_path, capsys):
    eye = sp.eye_array(5, format="csr")
    SWNNClassifier().fit(eye, eye, label_names=NAMES).save(tmp_path / "model")
    write_xmc(tmp_path / "new.txt", eye, eye)
    assert main(["predict", str(tmp_path / "model"), str(tmp_path / "new.txt"), "-k", "1"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.split("\n")[1:-1]]
    assert [(row, unescaped(label)) for row, _, label, _ in rows] == [
        (str(i), name) for i, name in enumerate(NAMES)
    ]


@pytest.mark.parametrize("name", ["x.tsv.gz", "x.xz", "x.jsonl.gz"])
@pytest.mark.parametrize("wanted", [None, "tsv"])
def test_compressed_output_is_refused(name, wanted):
    with pytest.raises(ValueError, match=f"{name}: predictions are written as plain text"):
        choose_format(name, wanted)
