"""`swnn predict` as a Unix filter: pipes in and out, rows as they come, ids all the way."""

import csv
import gzip
import io
import json
import lzma
import os
import select
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, load, write_names, write_xmc
from swnn_xp.cli.main import main
from swnn_xp.io import json_lines

WORDS = ["dog", "cat", "cow", "7", "ø"]
LABELS = ["pet", "farm", "a,b"]
X = np.asarray([[2, 0, 0, 1, 0], [0, 1, 0, 0, 1], [0, 0, 1, 1, 0], [1, 1, 0, 0, 0]], np.float32)
Y = np.asarray([[1, 0, 0], [1, 0, 1], [0, 1, 0], [1, 1, 0]])
IDS = ["a", 2, "row\tthree", None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    clf = SWNNClassifier(3, backend="numpy")
    clf.fit(X, Y, feature_names=WORDS, label_names=LABELS).save(folder / "model")
    clf.fit(X, Y).save(folder / "unnamed")
    write_xmc(folder / "new.txt", X, Y)
    lines = [json.dumps(record(row)) for row in range(4)]
    (folder / "new.jsonl").write_text("\n".join([*lines[:2], "", *lines[2:]]) + "\n")
    return folder


def record(row):
    found = {WORDS[j]: float(X[row, j]) for j in np.flatnonzero(X[row])}
    return {"features": found} if IDS[row] is None else {"id": IDS[row], "features": found}


def predict(folder, capsys, *args, model="model"):
    """Run the command; return its output."""
    status = main(["predict", str(folder / model), *map(str, args), "--backend", "numpy"])
    out, err = capsys.readouterr()
    assert status == 0, err
    return out


def answers(text):
    return [json.loads(line) for line in text.splitlines()]


def without_ids(text):
    return [{k: v for k, v in answer.items() if k != "id"} for answer in answers(text)]


def test_json_lines_give_the_answers_of_the_text_format(folder, capsys):
    expected = predict(folder, capsys, folder / "new.txt", "--format", "jsonl")
    found = predict(folder, capsys, folder / "new.jsonl", "--format", "jsonl")
    assert without_ids(found) == answers(expected)
    assert [answer["id"] for answer in answers(found)] == IDS
    best = load(folder / "model").topk_probabilities(sp.csr_array(X))
    assert [answer["labels"] for answer in answers(found)] == [
        [label for label in row if label >= 0] for row in best.labels.tolist()
    ]


def test_ids_in_tables(folder, capsys):
    rows = csv.reader(io.StringIO(predict(folder, capsys, folder / "new.jsonl", "--format", "csv")))
    assert next(rows) == ["row", "id", "rank", "label", "score", "probability"]
    assert {row[1] for row in rows} == {"a", "2", "row\tthree", ""}
    tsv = predict(folder, capsys, folder / "new.jsonl").splitlines()
    assert tsv[0] == "row\tid\trank\tlabel\tscore\tprobability"
    assert any(line.startswith("2\trow\\tthree\t1\t") for line in tsv)


@pytest.mark.parametrize("k", [1, 2, 10**12])
def test_k_is_capped_at_the_number_of_labels(folder, capsys, k):
    found = answers(predict(folder, capsys, folder / "new.txt", "--format", "jsonl", "-k", k))
    best = load(folder / "model").predict_topk(sp.csr_array(X), k=min(k, 3)).labels.tolist()
    assert [answer["labels"] for answer in found] == [[i for i in row if i >= 0] for row in best]


@pytest.mark.parametrize("form", ["list", "numbers", "values", "keys"])
def test_all_forms_of_rows(folder, capsys, form):
    columns = [np.flatnonzero(row).tolist() for row in X]
    make = {
        "list": lambda row: {"features": [WORDS[j] for j in columns[row]]},
        "numbers": lambda row: {"indices": columns[row]},
        "values": lambda row: {"indices": columns[row], "values": [1] * len(columns[row])},
        "keys": lambda row: {"features": {str(j): 1 for j in columns[row]}},
    }[form]
    rows = folder / f"{form}.jsonl"
    rows.write_text("\n".join(json.dumps(make(row)) for row in range(4)))
    write_xmc(folder / "ones.txt", X > 0, Y)
    model = "unnamed" if form == "keys" else "model"
    expected = predict(folder, capsys, folder / "ones.txt", "--format", "jsonl", model=model)
    found = predict(folder, capsys, rows, "--format", "jsonl", model=model)
    assert without_ids(found) == answers(expected)


def test_unknown_names_are_left_out_and_counted(folder, capsys):
    (folder / "odd.jsonl").write_text('{"features": {"dog": 1, "unicorn": 2, "8": 1}}\n')
    assert main(["predict", str(folder / "model"), str(folder / "odd.jsonl")]) == 0
    out, err = capsys.readouterr()
    assert "pet" in out
    assert err == "swnn: 2 of 3 feature names are unknown to the model and were left out\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ('{"features": {"dog": NaN}}', "NaN is not a number"),
        ('{"features": {"dog": "1"}}', "'1' is not a finite number"),
        ('{"features": {"dog": 1e999}}', "inf is not a finite number"),
        ('{"features": 7}', "features must be"),
        ('{"features": [7]}', "features must be names"),
        ('{"indices": [5]}', "feature 5 is outside 0..4"),
        ('{"indices": ["dog"]}', "'dog' is not a whole number"),
        ('{"indices": [1], "values": []}', "has 1 indices and 0 values"),
        ('{"features": {}, "indices": [1]}', "has both"),
        ('{"id": "a"}', "neither features nor"),
        ('{"id": [1], "features": {}}', "id must be"),
        ("[1]", "expected a JSON object"),
        ('{"features": {"dog": %s}}' % ("9" * 5000), "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"id": "\udcff"}', "not JSON"),
    ],
)
def test_bad_records_are_named(folder, capsys, line, message):
    path = folder / "bad.jsonl"
    path.write_bytes(b'{"features": {}}\n\n' + line.encode(errors="surrogateescape") + b"\n")
    assert main(["predict", str(folder / "model"), str(path), "--format", "jsonl"]) == 2
    out, err = capsys.readouterr()
    assert [answer["row"] for answer in answers(out)] == [0]  # what was read before
    assert err.startswith(f"swnn: error: {path}:3: ")
    assert message in err
    assert err.count("\n") == 1


BAD = [
    '{"id": "a", "features": ["dog"]}',
    '{"id": "b", "features": ["dog"]',
    '{"id": "c", "features": 7}',
    '{"id": [4], "features": ["cat"]}',
    "",
    '{"id": "e", "features": ["cat"]}',
]
ERRORS = [
    "2: is not JSON: Expecting ',' delimiter (column 32)",
    "3: features must be an object or a list, not 7",
    "4: id must be a text or a whole number, not [4]",
]


@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize("output", ["-", "out.jsonl"])
def test_bad_lines_are_skipped_on_request(folder, tmp_path, capsys, rows, output):
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(BAD))
    output = output if output == "-" else tmp_path / output
    args = [path, "--skip-bad", "--rows", rows, "--format", "jsonl", "-o", output]
    assert main(["predict", str(folder / "model"), *map(str, args), "--backend", "numpy"]) == 0
    out, err = capsys.readouterr()
    assert "swnn: bad lines: 3; each has an error in the output" in err
    found = answers(out if output == "-" else output.read_text())
    assert [answer["row"] for answer in found] == [0, 1, 2, 3, 4]
    assert [answer["id"] for answer in found] == ["a", None, "c", None, "e"]
    assert [answer["error"] for answer in found[1:4]] == [f"{path}:{error}" for error in ERRORS]
    assert all(answer["names"] for answer in (found[0], found[4]))


def test_errors_in_tables(folder, tmp_path, capsys):
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(BAD))
    rows = csv.reader(
        io.StringIO(predict(folder, capsys, path, "--skip-bad", "--format", "csv", "-k", 1))
    )
    assert [row[:3] for row in rows] == [
        ["row", "id", "rank"], ["0", "a", "1"], ["1", "", "error"], ["2", "c", "error"],
        ["3", "", "error"], ["4", "e", "1"],
    ]  # fmt: skip
    tsv = predict(folder, capsys, path, "--skip-bad", "-k", 1).splitlines()
    assert tsv[2] == f"1\t\terror\t{path}:{ERRORS[0]}\t\t"
    assert len({line.count("\t") for line in tsv}) == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["new.txt"], "bad lines are skipped in JSON lines only"),
        (["new.jsonl", "-o", "never.parquet"], "--skip-bad writes errors as text"),
        (["new.jsonl", "-o", "never", "--cluster", "local:1"], "--cluster can't skip bad lines"),
    ],
)
def test_where_bad_lines_are_not_skipped(folder, capsys, monkeypatch, args, message):
    monkeypatch.chdir(folder)
    assert main(["predict", "model", *args, "--skip-bad"]) == 2
    assert message in capsys.readouterr().err
    assert not list(folder.glob("never*"))


@pytest.mark.parametrize("skip", [[], ["--skip-bad"]])
def test_rows_before_a_bad_line_of_a_pipe_are_answered(folder, skip):
    with swnn(folder, "-", "--format", "jsonl", *skip) as program:
        out, err = program.communicate("\n".join(BAD).encode(), timeout=60)
    assert [answer["row"] for answer in answers(out.decode())] == ([0, 1, 2, 3, 4] if skip else [0])
    assert program.returncode == (0 if skip else 2)
    assert skip or err.startswith(b"swnn: error: /dev/stdin:2: is not JSON")


@pytest.mark.parametrize("skip", [[], ["--skip-bad"]])
def test_a_line_that_is_too_long(folder, tmp_path, capsys, monkeypatch, skip):
    monkeypatch.setattr(json_lines, "MAX_LINE", 1 << 20)
    monkeypatch.setattr(json_lines, "_CHUNK", 1 << 10)
    path = tmp_path / "long.jsonl"
    path.write_text(BAD[0] + '\n{"text": "' + "x" * (3 << 20) + '"}\n' + BAD[-1])
    args = ["predict", str(folder / "model"), str(path), "--format", "jsonl", "--backend", "numpy"]
    assert main([*args, "--rows", "2", *skip]) == (0 if skip else 2)
    out, err = capsys.readouterr()
    error = f"{path}:2: the line is longer than 1 MiB"
    assert error in (out if skip else err)
    assert [answer["row"] for answer in answers(out)] == ([0, 1, 2] if skip else [0])


def test_a_long_line_takes_linear_time(tmp_path, monkeypatch):
    """Its chunks are joined once: joined one by one, 4 MiB would be moved 2,000 times."""
    monkeypatch.setattr(json_lines, "_CHUNK", 1 << 10)
    moved = 0

    class Chunk(bytes):
        def __radd__(self, before):
            nonlocal moved
            moved += len(before)
            return bytes(before) + bytes(self)

    class Stream(io.BytesIO):
        def read1(self, size=-1):
            return Chunk(super().read1(size))

    text = "x" * (4 << 20)
    stream = Stream(json.dumps({"text": text}).encode())
    monkeypatch.setattr(json_lines, "open_input", lambda _: stream)
    (tmp_path / "long.jsonl").touch()
    (block,) = json_lines.iter_json_lines(tmp_path / "long.jsonl")
    assert block.records[0].fields == {"text": text}
    assert moved < 8 << 20


@pytest.mark.parametrize("suffix", ["gz", "xz"])
@pytest.mark.parametrize("name", ["csv", "jsonl", "tsv"])
def test_compressed_output(folder, capsys, suffix, name):
    expected = predict(folder, capsys, folder / "new.jsonl", "--format", name)
    out = folder / f"out.{name}.{suffix}"
    predict(folder, capsys, folder / "new.jsonl", "-o", out, "--rows", 3)
    unpack = {"gz": gzip.decompress, "xz": lzma.decompress}[suffix]
    assert unpack(out.read_bytes()).decode() == expected


def test_compressed_output_of_no_rows_can_be_read(folder, capsys):
    (folder / "none.txt").write_text("0 5 3\n")
    predict(folder, capsys, folder / "none.txt", "-o", folder / "none.jsonl.gz")
    assert gzip.decompress((folder / "none.jsonl.gz").read_bytes()) == b""


def test_parquet(folder, capsys):
    parquet = pytest.importorskip("pyarrow.parquet", reason="left out: pyarrow is not installed")
    out = folder / "out.parquet"
    predict(folder, capsys, folder / "new.jsonl", "-o", out, "--rows", 3)
    expected = answers(predict(folder, capsys, folder / "new.jsonl", "--format", "jsonl"))
    table = parquet.read_table(out)
    flat = [
        {
            "row": answer["row"],
            "id": None if answer["id"] is None else str(answer["id"]),
            "rank": rank + 1,
            "label": answer["labels"][rank],
            "name": answer["names"][rank],
            "score": answer["scores"][rank],
            "probability": answer["probabilities"][rank],
        }
        for answer in expected
        for rank in range(len(answer["labels"]))
    ]
    assert table.to_pylist() == flat


def test_parquet_without_pyarrow_says_what_is_missing(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    out = folder / "never.parquet"
    assert main(["predict", str(folder / "model"), str(folder / "new.txt"), "-o", str(out)]) == 2
    assert "Parquet needs pyarrow" in capsys.readouterr().err
    assert not out.exists()


def test_a_row_map_gives_ids(folder, capsys):
    write_names(folder / "row_map.txt", ["one", "two", "three", "four"])
    args = (folder / "new.txt", "--row-map", folder / "row_map.txt", "--rows", 3)
    found = answers(predict(folder, capsys, *args, "--format", "jsonl"))
    assert [answer["id"] for answer in found] == ["one", "two", "three", "four"]


@pytest.mark.parametrize(("names", "which"), [(3, "fewer"), (5, "more")])
def test_a_row_map_must_fit(folder, capsys, names, which):
    write_names(folder / "odd_map.txt", ["name"] * names)
    args = ["predict", str(folder / "model"), str(folder / "new.txt")]
    out = folder / "mapped.tsv"
    assert main([*args, "--row-map", str(folder / "odd_map.txt"), "-o", str(out)]) == 2
    assert f"odd_map.txt: has {which} names than there are rows" in capsys.readouterr().err
    assert not list(folder.glob("mapped*"))


def test_thresholds(folder, capsys):
    args = (folder / "new.txt", "--format", "jsonl", "--min-probability", "0.8")
    likely = answers(predict(folder, capsys, *args))
    assert all(p >= 0.8 for answer in likely for p in answer["probabilities"])
    assert any(len(answer["labels"]) < 2 for answer in likely)
    kept = answers(predict(folder, capsys, *args, "--at-least", "2"))
    everything = answers(predict(folder, capsys, folder / "new.txt", "--format", "jsonl"))
    for few, some, most in zip(likely, kept, everything, strict=True):
        assert some["labels"] == most["labels"][: max(len(few["labels"]), 2)]


# Pipes: programs of their own.


def swnn(folder, *args, **options):
    command = [sys.executable, "-m", "swnn_xp", "predict", folder / "model", *args]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    backend = ["--backend", "numpy"]
    return subprocess.Popen([*command, *backend], env=environment, **(pipes | options))


def answer_line(program):
    ready, _, _ = select.select([program.stdout], [], [], 60)
    assert ready, "no answer came"
    return program.stdout.readline()


@pytest.mark.parametrize("name", ["new.jsonl", "new.txt"])
def test_a_slow_pipe_is_answered_line_by_line(folder, name):
    lines = (folder / name).read_bytes().splitlines(keepends=True)
    header = [lines.pop(0)] if name == "new.txt" else []
    rows = [line for line in lines if line.strip()]
    with swnn(folder, "-", "-o", "-", "--format", "jsonl") as program:
        for line in header:
            program.stdin.write(line)
        for number, line in enumerate(rows):
            program.stdin.write(line)
            program.stdin.flush()
            assert json.loads(answer_line(program))["row"] == number
        program.stdin.close()
        assert program.wait(60) == 0


@pytest.mark.parametrize(
    ("name", "pack"), [("new.jsonl", lzma.compress), ("new.txt", gzip.compress)]
)
def test_a_pipe_gives_the_answers_of_a_file(folder, capsys, name, pack):
    expected = predict(folder, capsys, folder / name, "--format", "jsonl")
    with swnn(folder, "-", "--format", "jsonl") as program:
        out, err = program.communicate(pack((folder / name).read_bytes()), timeout=60)
    assert out.decode() == expected, err


def test_a_large_pipe(folder, capsys):
    """Larger than a pipe's buffer, with rows cut anywhere."""
    rng = np.random.default_rng(0)
    many = sp.random_array((6_000, 5), density=0.5, rng=rng, format="csr", dtype=np.float32)
    write_xmc(folder / "many.txt", many, sp.csr_array((6_000, 3), dtype=bool))
    expected = predict(folder, capsys, folder / "many.txt", "-k", "1")
    with swnn(folder, "/dev/stdin", "-k", "1") as program:
        out, _ = program.communicate((folder / "many.txt").read_bytes(), timeout=120)
    assert out.decode() == expected


def test_a_file_from_a_pipe_grows_in_place(folder):
    out = folder / "grows.jsonl"
    with swnn(folder, "-", "-o", out) as program:
        program.stdin.write(b'{"id": "x", "features": {"dog": 1}}\n')
        program.stdin.flush()
        while not (out.exists() and out.read_text().endswith("\n")):
            assert program.poll() is None
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) == 143
    assert json.loads(out.read_text())["id"] == "x"


def test_a_refused_pipe_leaves_the_old_file(folder):
    out = folder / "old.jsonl"
    out.write_text("precious")
    with swnn(folder, "-", "-o", out) as program:
        _, err = program.communicate(b'{"features": 7}\n', timeout=60)
    assert program.returncode == 2
    assert err.startswith(b"swnn: error: /dev/stdin:1: features must be")
    assert out.read_text() == "precious"


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_waiting_for_a_pipe_can_be_stopped(folder, stop):
    with swnn(folder, "-", "--format", "jsonl") as program:
        program.stdin.write(b'{"features": {"dog": 1}}\n')
        program.stdin.flush()
        assert answer_line(program)
        program.send_signal(stop)
        assert program.wait(60) == 128 + stop
        assert program.stderr.read() == b"swnn: stopped\n"


def test_named_pipes_on_both_sides(folder, capsys):
    expected = predict(folder, capsys, folder / "new.jsonl", "--format", "jsonl")
    for name in ("in", "out.jsonl"):
        os.mkfifo(folder / name)
    feed = (folder / "new.jsonl").read_bytes()
    feeder = threading.Thread(target=(folder / "in").write_bytes, args=(feed,))
    feeder.start()
    with subprocess.Popen(["cat", folder / "out.jsonl"], stdout=subprocess.PIPE) as reader:
        predict(folder, capsys, folder / "in", "-o", folder / "out.jsonl")
        assert reader.communicate(timeout=60)[0].decode() == expected
    feeder.join(60)
    assert (folder / "out.jsonl").is_fifo()
