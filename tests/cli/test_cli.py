"""The command line as a newcomer meets it: what it prints, and how it refuses."""

import json
import lzma
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import write_names, write_xmc
from swnn_xp.cli.main import main


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 12), density=0.4, rng=rng, format="csr", dtype=np.float32)
    Y = sp.csr_array((rng.random((60, 5)) < 0.3).astype(np.int8))
    write_xmc(tmp_path / "train.txt", X, Y)
    write_xmc(tmp_path / "test.txt.xz", X[:7], Y[:7])
    write_names(tmp_path / "label_map.txt", ["red", "green", "blue", "a b", "ø"])
    return tmp_path


@pytest.fixture
def model(files, capsys):
    assert main(["fit", str(files / "train.txt"), "-o", str(files / "model"), "-S", "9"]) == 0
    capsys.readouterr()
    return files / "model"


def test_summarize(files, capsys):
    assert main(["summarize", str(files / "train.txt")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("60 rows, 12 features (12 occur), 5 labels (5 occur)")
    assert "labels per row" in out


def test_fit_says_what_it_made(files, capsys):
    assert main(["fit", str(files / "train.txt"), "-o", str(files / "m")]) == 0
    assert "60 rows" in capsys.readouterr().out


def test_predict_tsv(files, model, capsys):
    assert main(["predict", str(model), str(files / "test.txt.xz"), "-k", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "row\trank\tlabel\tscore\tprobability"
    row, rank, label, score, probability = lines[1].split("\t")
    assert (row, rank) == ("0", "1")
    assert label in {"red", "green", "blue", "a b", "ø"}
    assert float(score) > 0
    assert 0 < float(probability) <= 1


def test_predict_jsonl_to_a_file(files, model, capsys):
    out = files / "labels.jsonl"
    assert main(["predict", str(model), str(files / "test.txt.xz"), "-o", str(out)]) == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["row"] for record in records] == list(range(7))
    assert len(records[0]["labels"]) == len(records[0]["scores"]) == len(records[0]["names"])
    assert not list(files.glob("labels.*.*"))


def test_predict_several_files(files, model, capsys):
    test = str(files / "test.txt.xz")
    assert main(["predict", str(model), test, test, "--format", "jsonl"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["row"] for record in records] == list(range(14))
    assert [record["labels"] for record in records[:7]] == [r["labels"] for r in records[7:]]


def test_predict_to_a_pipe(files, model, capsys):
    arguments = ["predict", str(model), str(files / "test.txt.xz")]
    assert main(arguments) == 0
    os.mkfifo(files / "pipe")
    with subprocess.Popen(["cat", files / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        assert main([*arguments, "-o", str(files / "pipe")]) == 0
        assert reader.communicate(timeout=60)[0] == capsys.readouterr().out


def test_failed_prediction_leaves_the_old_output(files, model):
    out = files / "labels.tsv"
    out.write_text("precious")
    assert main(["predict", str(model), str(files / "test.txt.xz"), "-k", "0", "-o", str(out)]) == 2
    assert out.read_text() == "precious"
    assert not list(files.glob("labels.*.*"))


def test_evaluate(files, model, capsys):
    assert main(["evaluate", str(model), str(files / "test.txt.xz"), "--backend", "numpy"]) == 0
    out = capsys.readouterr().out
    assert "S = 9, alpha = 1, beta = 1, backend numpy" in out
    for name in ("max P", "RP", "micro-F1", "nDCG", "PSP", "latency  mean"):
        assert name in out


def test_explain(files, model, capsys):
    ask = ["explain", str(model), str(files / "test.txt.xz"), "--row", "0", "-k", "1", "-S", "30"]
    assert main(ask) == 0
    label, *voters, others = capsys.readouterr().out.splitlines()
    assert "score" in label
    assert all("similarity" in voter and "shared: " in voter for voter in voters)
    assert len(voters) == 5  # the best
    assert main([*ask, "--all"]) == 0
    _, *every = capsys.readouterr().out.splitlines()
    assert every[:5] == voters
    assert others.split("%")[1] == f"  {len(every) - 5} more"
    share = sum(float(voter.split("%")[0]) for voter in every[5:])
    assert float(others.split("%")[0]) == pytest.approx(share, abs=0.3)
    assert (
        main(["explain", str(model), str(files / "test.txt.xz"), "--row", "1", "--label", "red"])
        == 0
    )
    assert capsys.readouterr().out.startswith("red: score")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["fit", "nowhere.txt", "-o", "m"], "nowhere.txt: No such file or directory"),
        (["fit", "{train}", "-o", "m", "-S", "0"], "n_neighbors must be a whole number"),
        (["fit", "{train}", "-o", "m", "--beta", "-1"], "beta must be a number of at least 0"),
        (["predict", "nowhere", "{train}"], "nowhere"),
        (["predict", "{root}", "{train}"], "manifest.json"),
        (["predict", "{model}", "{train}", "--cluster", "local"], "name it with -o"),
        (["predict", "{model}", "{broken}"], "broken.txt:3:"),
        (["explain", "{model}", "{train}", "--row", "60"], "--row 60 is outside 0..59"),
        (["explain", "{model}", "{train}", "--row", "0", "--label", "pink"], "no label is called"),
        (["explain", "{model}", "{train}", "--row", "0", "--label", "9"], "label 9 is outside"),
        (["evaluate", "{model}", "{broken}"], "broken.txt:3:"),
        (["summarize", "{broken}"], "broken.txt:3:"),
        (["summarize", "{garbage}"], "garbage.txt.xz"),
    ],
)
def test_bad_input_gets_one_clear_line(files, model, capsys, args, message):
    (files / "broken.txt").write_text("2 12 5\n0 1:1\n0 1:x\n")
    (files / "garbage.txt.xz").write_bytes(lzma.compress(b"1 1 1\n 0:1\n")[:-9])
    places = {
        "root": files,
        "model": model,
        "train": files / "train.txt",
        "broken": files / "broken.txt",
        "garbage": files / "garbage.txt.xz",
    }
    assert main([arg.format(**places) for arg in args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("swnn: error: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("args", [["nonsense"], ["fit"], ["predict", "m"], ["fit", "a", "-S", "x"]])
def test_wrong_arguments_exit_with_2(args, capsys):
    with pytest.raises(SystemExit) as exit:
        main(args)
    assert exit.value.code == 2
    assert "usage: swnn" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["demo"], ["fit"], ["predict"], ["evaluate"], ["explain"]])
def test_help(command, capsys):
    with pytest.raises(SystemExit) as exit:
        main([*command, "--help"])
    assert exit.value.code == 0
    assert "usage: swnn" in capsys.readouterr().out


def test_no_command_prints_the_help(capsys):
    assert main([]) == 0
    assert "swnn predict model new.txt" in capsys.readouterr().out


def test_python_m(capsys):
    command = [sys.executable, "-m", "swnn_xp", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("swnn_xp ")


def test_a_closed_pipe_is_no_error(files, model):
    command = (
        f'"{sys.executable}" -m swnn_xp.cli.main predict {model} {files}/train.txt | head -n 1'
    )
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "row\trank\tlabel\tscore\tprobability\n"
    assert "Traceback" not in done.stderr


def test_pairs_are_left_out(files, model, capsys):
    write_names(files / "pairs.txt", ["0 1", "0 0", "", "3 2"])
    test = str(files / "test.txt.xz")
    assert main(["predict", str(model), test, "--filter", str(files / "pairs.txt")]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    assert not {("0", "green"), ("0", "red"), ("3", "blue")} & {(row[0], row[2]) for row in rows}
    assert main(["evaluate", str(model), test, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)["quality"]["P"]["5"]
    pairs = [f"{row} {label}" for row in range(7) for label in range(4)]
    write_names(files / "pairs.txt", pairs)
    given = ["--filter", str(files / "pairs.txt"), "--json"]
    assert main(["evaluate", str(model), test, *given]) == 0
    assert json.loads(capsys.readouterr().out)["quality"]["P"]["5"] < whole


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 1 1", "pairs.txt:2: '0 1 1' is not a row and a label"),
        ("0 -1", "pairs.txt:2: '0 -1' is not a row and a label"),
        ("0 99999999999", "pairs.txt:2: 99999999999 is beyond"),
        ("0 5", "exclude: pair 1 has label 5, outside 0..4"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(files, model, capsys, line, message):
    write_names(files / "pairs.txt", ["0 1", line])
    given = str(files / "test.txt.xz"), "--filter", str(files / "pairs.txt")
    assert main(["evaluate", str(model), *given]) == 2
    assert message in capsys.readouterr().err
