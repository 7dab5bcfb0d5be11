"""The lines of predictions: one row of a table stays one line, whatever the names are."""

import csv
import io
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, write_xmc
from swnn_xp.bulk.lines import FORMATS, Columns, LineWriter, OutputFormat, Threshold, choose_format
from swnn_xp.cli.main import main
from swnn_xp.results import RankedProbabilities, Ranking

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


def test_csv():
    rows = csv.reader(io.StringIO(LineWriter(FORMATS["csv"], NAMES).lines(7, BEST), newline=""))
    assert list(rows) == [
        ["7", "1", NAMES[0], "3"],
        ["7", "2", NAMES[1], "2"],
        ["7", "3", NAMES[2], "1"],
        ["8", "1", NAMES[3], "2"],
        ["8", "2", NAMES[4], "1.5"],
    ]


LIKELY = RankedProbabilities(*BEST, np.asarray([[0.9, 0.5, 0.125], [0.3, 0.2, 0]]))
ALL = Columns(ids=True, probabilities=True)


@pytest.mark.parametrize("name", ["tsv", "csv"])
def test_tables_have_ids_and_probabilities(name):
    writer = LineWriter(FORMATS[name], None, ALL)
    assert re.split("[,\t\n]", writer.header) == [
        "row", "id", "rank", "label", "score", "probability", "",
    ]  # fmt: skip
    lines = writer.lines(7, LIKELY, ["a", None]).replace(",", "\t").splitlines()
    assert lines[2] == "7\ta\t3\t2\t1\t0.125"
    assert lines[3] == "8\t\t1\t3\t2\t0.3"


def test_json_lines_have_ids_and_probabilities():
    text = LineWriter(FORMATS["jsonl"], None, ALL).lines(7, LIKELY, [12, None])
    records = [json.loads(line) for line in text.splitlines()]
    assert [record["id"] for record in records] == [12, None]
    assert [record["probabilities"] for record in records] == [[0.9, 0.5, 0.125], [0.3, 0.2]]


@pytest.mark.parametrize(
    ("threshold", "counts"),
    [
        (Threshold(), [3, 2]),
        (Threshold(0.5), [2, 0]),
        (Threshold(0.5, at_least=1), [2, 1]),
        (Threshold(1.0, at_least=9), [3, 2]),
        (Threshold(1.0), [0, 0]),
    ],
)
def test_thresholds(threshold, counts):
    text = LineWriter(FORMATS["jsonl"], None, ALL, threshold).lines(0, LIKELY, "ab")
    records = [json.loads(line) for line in text.splitlines()]
    for record, count in zip(records, counts, strict=True):
        assert len(record["labels"]) == len(record["scores"]) == count
        assert len(record["probabilities"]) == count


@pytest.mark.parametrize("given", [(-0.1, 0), (1.1, 0), (float("nan"), 0), (0.5, -1)])
def test_bad_thresholds(given):
    with pytest.raises(ValueError, match="must be"):
        Threshold(*given)


@pytest.mark.parametrize(
    ("output", "wanted", "expected"),
    [
        (None, None, ("tsv", "")),
        (None, "jsonl", ("jsonl", "")),
        ("a.jsonl", None, ("jsonl", "")),
        ("a.jsonl", "tsv", ("tsv", "")),
        ("a.txt", None, ("tsv", "")),
        ("folder.d/a", None, ("tsv", "")),
        ("a.CSV", None, ("csv", "")),
        ("a.jsonl.gz", None, ("jsonl", "gz")),
        ("a.xz", "csv", ("csv", "xz")),
        ("a.parquet", None, ("parquet", "")),
        ("a.dat", "tsv", ("tsv", "")),
    ],
)
def test_the_format_is_asked_for_or_by_suffix(output, wanted, expected):
    assert choose_format(output, wanted) == OutputFormat(*expected)


@pytest.mark.parametrize("name", ["x.json", "x.bz2", "x.tsv.zst", "x.xls.gz", "x.parquet.gz"])
def test_a_suffix_that_can_not_be_honoured_is_refused(name):
    with pytest.raises(ValueError, match=r"not a known format|compressed already"):
        choose_format(name)
    with pytest.raises(ValueError, match="needs a file"):
        choose_format(None, "parquet")


def test_predict_keeps_any_name_in_one_field(tmp_path, capsys):
    eye = sp.eye_array(5, format="csr")
    SWNNClassifier().fit(eye, eye, label_names=NAMES).save(tmp_path / "model")
    write_xmc(tmp_path / "new.txt", eye, eye)
    assert main(["predict", str(tmp_path / "model"), str(tmp_path / "new.txt"), "-k", "1"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.split("\n")[1:-1]]
    assert [(row, unescaped(label)) for row, _, label, *_ in rows] == [
        (str(i), name) for i, name in enumerate(NAMES)
    ]
