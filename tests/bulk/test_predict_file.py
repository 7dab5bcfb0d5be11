"""Files in blocks: the same lines as in one go, also when a run was stopped on the way."""

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, write_names, write_xmc
from swnn_xp.bulk.journal import ResumableOutput
from swnn_xp.bulk.lines import FORMATS, Columns, LineWriter, Threshold
from swnn_xp.bulk.predict_file import PredictJob, predict_file, predict_stream
from swnn_xp.bulk.sources import RepositoryRows
from swnn_xp.cli.main import main

RNG = np.random.default_rng(1)
X = sp.random_array((53, 12), density=0.4, rng=RNG, format="csr", dtype=np.float32)
Y = sp.csr_array((RNG.random((53, 5)) < 0.3).astype(np.int8))


def writer(name, label_names=None):
    return LineWriter(FORMATS[name], label_names, Columns(probabilities=True))


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out.tsv"


@pytest.fixture
def job(tmp_path):
    write_xmc(tmp_path / "test.txt", X, Y)
    source = RepositoryRows(tmp_path / "test.txt", 12)
    return PredictJob((source,), writer("tsv"), k=3, block_rows=10)


@pytest.fixture(scope="module")
def clf():
    return SWNNClassifier(7, backend="numpy").fit(X, Y)


@pytest.fixture(scope="module")
def expected(clf):
    lines = writer("tsv").lines(0, clf.topk_probabilities(X, k=3))
    return "row\trank\tlabel\tscore\tprobability\n" + lines


def here(out):
    return sorted(path.name for path in out.parent.iterdir())


def test_blocks_give_the_lines_of_one_go(clf, job, out, expected):
    seen = []
    assert predict_file(clf, job, out, seen.append) == 53
    assert out.read_text() == expected
    assert [progress.done for progress in seen] == [10, 20, 30, 40, 50, 53]
    assert here(out) == ["out.tsv", "test.txt"]


def test_a_stream_gets_the_same_lines(clf, job, expected):
    stream = io.BytesIO()
    assert predict_stream(clf, job, stream) == 53
    assert stream.getvalue().decode() == expected


def test_a_file_without_header(clf, job, out, expected):
    text = job.sources[0].path.read_text().partition("\n")[2]
    job.sources[0].path.write_text(text)
    assert predict_file(clf, job, out) == 53
    assert out.read_text() == expected


class Stop(Exception):
    pass


def stop_after(rows):
    def stop(progress):
        if progress.done >= rows:
            raise Stop

    return stop


def written_rows(monkeypatch):
    """The first row of each block that is written from now on."""
    rows, lines = [], LineWriter.lines

    def seen(self, first_row, *args):
        rows.append(first_row)
        return lines(self, first_row, *args)

    monkeypatch.setattr(LineWriter, "lines", seen)
    return rows


@pytest.mark.parametrize("after", [1, 3, 6])
def test_a_stopped_run_resumes_after_the_last_complete_block(
    clf, job, out, expected, after, monkeypatch
):
    with pytest.raises(Stop):
        predict_file(clf, job, out, stop_after(min(10 * after, 53)))
    assert not out.exists()
    with (out.parent / "out.tsv.partial").open("a") as file:
        file.write("half a li")  # of an incomplete block
    with (out.parent / "out.tsv.journal").open("a") as file:
        file.write('{"mark": [')
    rows = written_rows(monkeypatch)
    assert predict_file(clf, job, out) == 53
    assert rows == list(range(10 * after, 53, 10))
    assert out.read_text() == expected
    assert here(out) == ["out.tsv", "test.txt"]


@pytest.fixture
def three_files(job, tmp_path):
    bounds = [(0, 25), (25, 25), (25, 53)]
    files = [tmp_path / f"{start}-{stop}.txt" for start, stop in bounds]
    for file, (start, stop) in zip(files, bounds, strict=True):
        write_xmc(file, X[start:stop], Y[start:stop])
    return replace(job, sources=tuple(RepositoryRows(file, 12) for file in files))


def test_rows_of_several_files_are_numbered_consecutively(clf, three_files, out, expected):
    assert predict_file(clf, three_files, out) == 53
    assert out.read_text() == expected


@pytest.mark.parametrize("after", [10, 25, 35])
def test_several_files_resume(clf, three_files, out, expected, after, monkeypatch):
    with pytest.raises(Stop):
        predict_file(clf, three_files, out, stop_after(after))
    rows = written_rows(monkeypatch)
    assert predict_file(clf, three_files, out) == 53
    assert rows == [row for row in (0, 10, 20, 25, 35, 45) if row >= after]
    assert out.read_text() == expected


def test_another_job_is_not_resumed(clf, job, out):
    with pytest.raises(Stop):
        predict_file(clf, job, out, stop_after(0))
    named = writer("tsv", [f"label {i}" for i in range(5)])
    likely = replace(job.writer, threshold=Threshold(0.5))
    (out.parent / "map.txt").write_text("name\n" * 53)
    (out.parent / "pairs.txt").write_text("0 1\n")
    changes = (
        {"model": "another"},
        {"k": 2},
        {"compression": "gz"},
        {"row_map": out.parent / "map.txt"},
        {"exclude": out.parent / "pairs.txt"},
        *({"writer": other} for other in (writer("jsonl"), named, likely)),
    )
    left = here(out)
    for other in (replace(job, **change) for change in changes):
        with pytest.raises(ValueError, match="belongs to another job"):
            predict_file(clf, other, out)
    with pytest.raises(ValueError, match="belongs to another job"):
        predict_file(SWNNClassifier(8, backend="numpy").fit(X, Y), job, out)
    assert here(out) == left


@pytest.mark.parametrize(
    "damage", [b"\xff\xfe", b'{"mark": 7, "size": 1}', b'{"size": 1}', b"[]", b"null"]
)
def test_a_damaged_journal_is_named(clf, job, out, damage):
    with pytest.raises(Stop):
        predict_file(clf, job, out, stop_after(0))
    journal = out.parent / "out.tsv.journal"
    journal.write_bytes(journal.read_bytes() + damage + b"\n")
    message = r"out.tsv.journal: line 4 is damaged; to start over, remove it and out.tsv.partial"
    with pytest.raises(ValueError, match=message):
        predict_file(clf, job, out)


def test_a_missing_folder_is_named_by_the_output(clf, job, tmp_path):
    out = tmp_path / "nowhere" / "out.tsv"
    with pytest.raises(FileNotFoundError) as caught:
        predict_file(clf, job, out)
    assert caught.value.filename == str(out)


def test_files_are_closed_when_the_header_can_not_be_written(job, out, monkeypatch):
    opened, path_open = [], Path.open

    def remember(self, *args, **kwargs):
        opened.append(path_open(self, *args, **kwargs))
        return opened[-1]

    def full(self, *_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", remember)
    monkeypatch.setattr(ResumableOutput, "append", full)
    with pytest.raises(OSError, match="No space left"):
        ResumableOutput(out, {}).__enter__()
    assert len(opened) >= 2
    assert all(file.closed for file in opened)


def test_a_file_that_is_too_wide_is_named(clf, job, out, tmp_path):
    wide = tmp_path / "wide.txt"
    write_xmc(wide, sp.csr_array(np.ones((2, 13))), Y[:2])
    with pytest.raises(
        ValueError, match=r"wide.txt: X has 13 features, but the model was fitted w"
    ):
        predict_file(clf, replace(job, sources=(*job.sources, RepositoryRows(wide, 12))), out)


def test_two_runs_do_not_write_one_file(clf, job, out):
    with ResumableOutput(out, {}), pytest.raises(ValueError, match="another run is writing it"):
        predict_file(clf, job, out)


def test_bad_input_leaves_nothing_to_resume(clf, job, out):
    out.write_text("precious")
    job.sources[0].path.write_text("3 12 5\n0 1:1\n0 1:x\n0 1:1\n")
    with pytest.raises(ValueError, match="x"):
        predict_file(clf, replace(job, block_rows=1), out)
    assert out.read_text() == "precious"
    assert here(out) == ["out.tsv", "test.txt"]


def test_errors_of_the_writer_come_through(clf, job, out, monkeypatch):
    def broken(*_):
        raise Stop

    monkeypatch.setattr(LineWriter, "lines", broken)
    with pytest.raises(Stop):
        predict_file(clf, job, out)


def test_a_link_stays_and_its_target_is_written(clf, job, out, expected):
    out.symlink_to("target.tsv")
    assert predict_file(clf, job, out) == 53
    assert out.is_symlink()
    assert (out.parent / "target.tsv").read_text() == expected
    assert here(out) == ["out.tsv", "target.tsv", "test.txt"]


@pytest.fixture
def model(tmp_path, capsys):
    write_xmc(tmp_path / "train.txt", X, Y)
    assert main(["fit", str(tmp_path / "train.txt"), "-o", str(tmp_path / "model")]) == 0
    capsys.readouterr()
    return str(tmp_path / "model")


def test_the_command(model, tmp_path, capsys):
    train = str(tmp_path / "train.txt")
    for name in ("a.tsv", "a.csv", "a.jsonl"):
        out = tmp_path / name
        assert main(["predict", model, train, "-o", str(out), "--rows", "20"]) == 0
        assert "53 rows" in capsys.readouterr().err
        assert main(["predict", model, train, "--format", out.suffix[1:]]) == 0
        assert out.read_text() == capsys.readouterr().out
    assert json.loads(out.read_text().splitlines()[52])["row"] == 52
    assert main(["predict", model, train, "-o", str(out), "-k", "0"]) == 2


def test_pairs_are_left_out(clf, job, out):
    exclude = np.random.default_rng(2).random((53, 5)) < 0.4
    pairs = np.argwhere(exclude)[::-1]
    write_names(out.parent / "pairs.txt", [f"{row} {label}" for row, label in pairs])
    assert predict_file(clf, replace(job, exclude=out.parent / "pairs.txt"), out) == 53
    best = clf.topk_probabilities(X, k=3, exclude=pairs)
    assert out.read_text().partition("\n")[2] == writer("tsv").lines(0, best)


def test_a_pair_of_no_row_is_named(clf, job, out):
    write_names(out.parent / "pairs.txt", ["53 0"])
    with pytest.raises(ValueError, match="pairs.txt: names row 53, but there are 53 rows"):
        predict_file(clf, replace(job, exclude=out.parent / "pairs.txt"), out)
    assert not out.exists()
