"""Raw texts in `evaluate`, `tune` and `summarize`; options of texts where there are none."""

import json
import math

import pytest

from swnn_xp.cli.main import main

pytest.importorskip("sklearn")

TOPICS = {"chess": "queen king rook bishop", "sea": "wave ship sail anchor"}
OTHERS = ["very good day", "some more words", "in the morning", "not at night"]


def write(path, first=0, more=()):
    with path.open("w") as file:
        for i in range(first, first + 24):
            topic = list(TOPICS)[i % 2]
            words = TOPICS[topic].split()
            text = f"{words[i % 4]} and {words[(i + 1) % 4]} {OTHERS[i % 4]}"
            json.dump({"text": text, "labels": [topic, *more]}, file)
            file.write("\n")


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "train.jsonl")
    write(tmp_path / "test.jsonl", first=5)
    write(tmp_path / "other.jsonl", more=["never seen"])
    return tmp_path


def test_a_model_of_texts_is_evaluated(folder, capsys):
    model = str(folder / "model")
    assert main(["fit", "--text", str(folder / "train.jsonl"), "-o", model]) == 0
    capsys.readouterr()
    assert main(["evaluate", model, "--text", str(folder / "test.jsonl"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 24
    assert found["quality"]["P"]["1"] == 1.0
    assert main(["evaluate", model, "--text", str(folder / "other.jsonl"), "--json"]) == 0
    done = capsys.readouterr()
    assert "24 of 48 labels" in done.err
    quality = json.loads(done.out)["quality"]
    assert quality["P"]["1"] == 1.0
    # Half of the labels are unknown: they are right, and no ranking can have them.
    assert quality["max P"] == {"1": 1.0, "3": pytest.approx(2 / 3), "5": pytest.approx(0.4)}
    assert set(quality["R"].values()) == {0.5}
    assert quality["RP"] == {"1": 1.0, "3": 0.5, "5": 0.5}
    assert quality["coverage"]["5"] == pytest.approx(2 / 3)
    assert quality["nDCG"]["5"] == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert 0 < quality["PSP"]["5"] < 0.5


def test_a_model_of_rows_is_not(folder, capsys):
    (folder / "rows.txt").write_text("2 2 2\n0 0:1\n1 1:1\n")
    model = str(folder / "model")
    assert main(["fit", str(folder / "rows.txt"), "-o", model]) == 0
    assert main(["evaluate", model, "--text", str(folder / "test.jsonl")]) == 2
    assert "was not fitted on texts" in capsys.readouterr().err


def test_tune_and_summarize(folder, capsys):
    train = str(folder / "train.jsonl")
    assert main(["tune", "--text", train, "--folds", "2", "-o", str(folder / "best.toml")]) == 0
    assert main(["fit", "--text", train, "--params", str(folder / "best.toml"), "-o",
                 str(folder / "tuned")]) == 0  # fmt: skip
    page = folder / "page.html"
    capsys.readouterr()
    assert main(["summarize", "--text", train, "--html", str(page)]) == 0
    assert "24 rows" in capsys.readouterr().out
    assert "chess" in page.read_text()
    assert "queen" in page.read_text()


@pytest.mark.parametrize("command", ["fit", "tune", "summarize", "evaluate"])
@pytest.mark.parametrize(
    "options", [["--text-field", "body"], ["--labels-field", "tags"], ["--label-separator", "|"]]
)
def test_options_of_texts_need_texts(folder, capsys, command, options):
    (folder / "rows.txt").write_text("2 2 2\n0 0:1\n1 1:1\n")
    rows, model = str(folder / "rows.txt"), str(folder / "model")
    if command == "evaluate":
        assert main(["fit", rows, "-o", model]) == 0
    arguments = {"fit": [rows, "-o", model], "evaluate": [model, rows]}.get(command, [rows])
    assert main([command, *arguments, *options]) == 2
    assert f"{options[0]} is for texts: it goes with --text" in capsys.readouterr().err


def test_one_row_is_one_row(folder, capsys):
    (folder / "one.txt").write_text("1 1 1\n0 0:1\n")
    one, model = str(folder / "one.txt"), str(folder / "model")
    assert main(["fit", one, "-o", model]) == 0
    assert "1 row, 1 non-zero, 1 label;" in capsys.readouterr().out
    assert main(["predict", model, one, "-o", str(folder / "out.tsv")]) == 0
    assert "1 row, " in capsys.readouterr().err
    assert main(["summarize", one]) == 0
    assert "1 row, 1 feature (1 occur), 1 label (1 occur)" in capsys.readouterr().out


def test_a_folder_without_a_model(folder, capsys):
    assert main(["predict", str(folder), str(folder / "train.jsonl")]) == 2
    assert f"{folder}: holds no model" in capsys.readouterr().err


def test_a_lone_surrogate_is_named_with_its_line(folder, capsys):
    (folder / "one.txt").write_text("1 1 1\n0 0:1\n")
    model = str(folder / "model")
    assert main(["fit", str(folder / "one.txt"), "-o", model]) == 0
    rows = folder / "rows.jsonl"
    rows.write_text('{"id": "a", "indices": [0]}\n{"id": "\\ud800", "indices": [0]}\n')
    assert main(["predict", model, str(rows), "-o", str(folder / "out.tsv")]) == 2
    assert "rows.jsonl:2: id '\\ud800' is not Unicode text" in capsys.readouterr().err
