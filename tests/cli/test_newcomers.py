"""What newcomers do: help, wrong arguments, wrong files, Ctrl-C, redirections."""

import argparse
import bz2
import json
import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

from swnn_xp import load, write_names, write_xmc
from swnn_xp.cli.main import main, make_parser

COMMANDS = next(a for a in make_parser()._actions if isinstance(a, argparse._SubParsersAction))
X = np.asarray([[2, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 3]], np.float32)
Y = np.asarray([[1, 0], [1, 1], [0, 1], [1, 0]])
IDS = ["first doc", "second doc", "third doc", "fourth doc"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("newcomers")
    write_xmc(folder / "train.txt", X, Y)
    write_names(folder / "row_map.txt", IDS)
    write_names(folder / "label_map.txt", ["red", "green"])
    args = ["fit", str(folder / "train.txt"), "-o", str(folder / "model"), "--backend", "numpy"]
    assert main(args) == 0
    return folder


@pytest.mark.parametrize("name", COMMANDS.choices)
def test_every_help_has_a_description_and_an_example(name, capsys):
    with pytest.raises(SystemExit) as exit:
        main([name, "--help"])
    assert exit.value.code == 0
    out = capsys.readouterr().out
    usage, description, *_ = out.split("\n\n")
    assert usage.startswith(f"usage: swnn {name}")
    assert len(description) > 20
    assert not description.startswith("positional arguments")
    assert "\nexample" in out
    assert "\n  swnn " in out


@pytest.mark.parametrize("value", ["0", "-2", "x", "1.5"])
@pytest.mark.parametrize("option", ["--jobs", "--threads"])
def test_jobs_that_make_no_sense(folder, capsys, option, value):
    with pytest.raises(SystemExit) as exit:
        main(["predict", str(folder / "model"), str(folder / "train.txt"), f"{option}={value}"])
    assert exit.value.code == 2
    *_, last = capsys.readouterr().err.splitlines()
    message = f"argument {option}: must be a whole number from 1, or -1, not {value!r}"
    assert last == f"swnn predict: error: {message}"


def test_jobs_and_threads_are_one_option():
    parser = make_parser()
    for arguments in (
        ["fit", "t", "-o", "m"],
        ["predict", "m", "f"],
        ["serve", "m"],
        ["reproduce"],
    ):
        assert parser.parse_args(arguments).jobs == 1
        assert parser.parse_args([*arguments, "--jobs", "3"]).jobs == 3
        assert parser.parse_args([*arguments, "--threads", "-1"]).jobs == -1


def test_evaluate_as_json(folder, capsys):
    args = ["evaluate", str(folder / "model"), str(folder / "train.txt"), "--backend", "numpy"]
    assert main([*args, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["backend"]) == (4, "numpy")
    assert found["parameters"]["S"] == 25
    assert set(found["quality"]["P"]) == {"1", "3", "5"}
    assert main(args) == 0
    table = capsys.readouterr().out
    assert f"{100 * found['quality']['nDCG']['3']:.2f}" in table
    assert "S = 25, alpha = 1, beta = 1" in table


def test_explanations_name_documents(folder, capsys):
    assert load(folder / "model").row_names_ == IDS
    args = ["explain", str(folder / "model"), str(folder / "train.txt"), "--row", "0", "-k", "9"]
    assert main(args) == 0
    assert "first doc" in capsys.readouterr().out


def test_explain_takes_json_lines(folder, capsys):
    (folder / "new.jsonl").write_text('{"id": "x", "indices": [0]}\n{"id": "y", "indices": [2]}\n')
    args = ["explain", str(folder / "model"), str(folder / "new.jsonl"), "--row"]
    assert main([*args, "1", "-k", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("id y\nred: score")
    assert main([*args, "2"]) == 2
    assert "--row 2 is outside 0..1 of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt.bz2", bz2.compress(b"1 1 1\n 0:1\n"), "is compressed with bzip2; only plain"),
        ("a.zst", b"\x28\xb5\x2f\xfd123", "is compressed with Zstandard"),
        ("a.zip", b"PK\x03\x04abc", "is compressed with zip"),
        ("a.jsonl", b'{"features": {"a": 1}}\n', "this is JSON, not the repository's text format"),
        ("a.parquet", b"PAR1\x15\x04", "this is Parquet, not the repository's text format"),
        ("a.txt", "1 1 1\n 0:1\n".encode("utf-16"), "this is UTF-16, not the repository's"),
        ("b.txt", b"Dear all,\n", "is not a header"),
        ("empty.txt", b"", "is not a header"),
    ],
)
def test_other_formats_are_named(folder, capsys, name, content, message):
    (folder / name).write_bytes(content)
    assert main(["summarize", str(folder / name)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert name in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "args",
    [
        ["predict", "model", "train.txt", "-o"],
        ["summarize", "train.txt", "--html"],
        ["tune", "train.txt", "--holdout", "2", "-o"],
    ],
)
def test_outputs_follow_links_and_keep_special_files(folder, args, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    name = args[0]
    (folder / f"{name}.link").symlink_to(f"{name}.target")
    assert main([*args, f"{name}.link", *["--format", "tsv"][: 2 * (args[1] == "model")]]) == 0
    assert (folder / f"{name}.link").is_symlink()
    expected = (folder / f"{name}.target").read_bytes()
    os.mkfifo(folder / f"{name}.fifo")
    with subprocess.Popen(["cat", f"{name}.fifo"], stdout=subprocess.PIPE) as reader:
        assert main([*args, f"{name}.fifo", *["--format", "tsv"][: 2 * (args[1] == "model")]]) == 0
        assert reader.communicate(timeout=60)[0] == expected
    assert (folder / f"{name}.fifo").is_fifo()
    assert main([*args, "/dev/null"]) == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert not list(folder.glob("*.tmp"))


def test_an_early_ctrl_c_shows_no_stack(capsys, monkeypatch):
    class Interrupted:
        def find_spec(self, *_):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "meta_path", [Interrupted()])  # while the commands are imported
    monkeypatch.delitem(sys.modules, "swnn_xp.cli.demo")
    monkeypatch.delattr("swnn_xp.cli.demo")
    assert main(["demo"]) == 130
    assert capsys.readouterr() == ("", "swnn: stopped\n")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_prediction_leaves_nothing_behind(folder, stop):
    pipe, out = folder / f"in{stop}", folder / f"stopped{stop}.tsv"
    os.mkfifo(pipe)
    program = [sys.executable, "-m", "swnn_xp", "predict", folder / "model", pipe, "-o", out]
    with subprocess.Popen(program, stderr=subprocess.PIPE) as running, pipe.open("wb"):
        running.send_signal(stop)
        assert running.wait(60) == 128 + stop
        assert running.stderr.read() == b"swnn: stopped\n"
    assert not list(folder.glob(f"stopped{stop}*"))


def test_unreadable_and_missing_things_are_one_line(folder, capsys):
    train = str(folder / "train.txt")
    for args, message in [
        (["predict", str(folder / "model"), str(folder)], "Is a directory"),
        (["predict", str(folder / "model"), "nowhere.jsonl"], "nowhere.jsonl: No such file"),
        (["fit", train, "-o", "/dev/null"], "/dev/null: is not a folder"),
        (["fit", train, "-o", str(folder / "train.txt")], "train.txt: is not a folder"),
        (["predict", str(folder / "model"), train, "-o", str(folder)], "Is a directory"),
        (["predict", str(folder / "model"), train, "-o", "x.json"], ".json is not a known format"),
        (["predict", str(folder / "model"), train, "--min-probability", "2"], "from 0 to 1"),
        (["predict", str(folder / "model"), train, "-o", "/nowhere/x.tsv"], "/nowhere/x.tsv: No "),
        (["predict", str(folder / "model"), train, "--row-map", "nowhere"], "nowhere: No such"),
    ]:
        assert main(args) == 2, args
        out, err = capsys.readouterr()
        assert out == ""
        assert message in err
        assert err.count("\n") == 1


def test_a_file_on_standard_input(folder):
    program = [sys.executable, "-m", "swnn_xp", "predict", folder / "model"]
    expected = subprocess.run([*program, folder / "train.txt"], capture_output=True, check=True)
    with (folder / "train.txt").open("rb") as file:
        found = subprocess.run([*program, "-"], stdin=file, capture_output=True, check=True)
    assert found.stdout == expected.stdout
    assert found.stdout.count(b"\n") > 4


def test_an_empty_pipe_has_no_rows(folder, capfd):
    args = ["predict", str(folder / "model"), "/dev/null", "--format"]
    assert main([*args, "csv"]) == 0
    assert capfd.readouterr().out == "row,id,rank,label,score,probability\n"
    assert main([*args, "jsonl"]) == 0
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "MODEL", "FILE", "-o", "FILE"],
        ["predict", "MODEL", "FILE", "-o", "LINK"],
        ["evaluate", "MODEL", "FILE", "--html", "FILE"],
        ["summarize", "FILE", "--html", "FILE"],
        ["tune", "FILE", "-o", "FILE"],
    ],
)
def test_an_input_is_not_replaced(folder, tmp_path, capsys, command):
    file, link = tmp_path / "train.txt", tmp_path / "link.txt"
    write_xmc(file, X, Y)
    link.symlink_to(file)
    before = file.read_bytes()
    names = {"MODEL": folder / "model", "FILE": file, "LINK": link}
    assert main([str(names.get(word, word)) for word in command]) == 2
    assert "is an input of this command" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_a_part_above_all_rows(folder, tmp_path, capsys):
    small = ["compress", str(folder / "model"), "-o", str(tmp_path / "small"), "--keep"]
    assert main([*small, "2"]) == 2
    assert "keep must be above 0 and at most 1" in capsys.readouterr().err
    assert main([*small, "1"]) == 0


def test_standard_output_is_closed(folder):
    run = [sys.executable, "-m", "swnn_xp", "info", str(folder / "model")]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *run], stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == b"swnn: error: standard output is closed\n"
