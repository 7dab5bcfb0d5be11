"""Scoring a file in blocks: the same lines as in one go, also when it was stopped on the way."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, write_xmc
from swnn_xp.bulk.predict_file import Job, score_file
from swnn_xp.cli.main import main

RNG = np.random.default_rng(1)
X = sp.random_array((53, 12), density=0.4, rng=RNG, format="csr", dtype=np.float32)
Y = sp.csr_array((RNG.random((53, 5)) < 0.3).astype(np.int8))


@pytest.fixture
def job(tmp_path):
    write_xmc(tmp_path / "test.txt", X, Y)
    return Job(tmp_path / "test.txt", tmp_path / "out.tsv", k=3, rows=10, header="head\n")


@pytest.fixture(scope="module")
def clf():
    return SWNNClassifier(7, backend="numpy").fit(X, Y)


def lines(first, labels, scores):
    return "".join(f"{first + i} {row}\n" for i, row in enumerate(labels))


def expected(clf):
    return "head\n" + lines(0, clf.predict_topk(X, k=3).labels.tolist(), None)


def leftovers(job):
    return sorted(path.name for path in job.output.parent.iterdir())


def test_blocks_give_the_lines_of_one_go(clf, job):
    seen = []
    assert score_file(clf, job, lines, seen.append) == 53
    assert job.output.read_text() == expected(clf)
    assert [progress.done for progress in seen] == [10, 20, 30, 40, 50, 53]
    assert leftovers(job) == ["out.tsv", "test.txt"]


class Stop(Exception):
    pass


@pytest.mark.parametrize("after", [1, 3, 6])
def test_a_stopped_run_goes_on_after_the_last_complete_block(clf, job, after):
    def stop(progress):
        if progress.done >= 10 * after or progress.done == 53:
            raise Stop

    with pytest.raises(Stop):
        score_file(clf, job, lines, stop)
    assert not job.output.exists()
    with (job.output.parent / "out.tsv.partial").open("a") as file:
        file.write("half a li")  # of a block that was not completed
    with (job.output.parent / "out.tsv.journal").open("a") as file:
        file.write('{"place": [')
    rows = []

    def seen(first, labels, scores):
        rows.append(first)
        return lines(first, labels, scores)

    assert score_file(clf, job, seen) == 53
    assert rows == list(range(min(10 * after, 60), 53, 10))
    assert job.output.read_text() == expected(clf)
    assert leftovers(job) == ["out.tsv", "test.txt"]


def test_another_job_is_not_continued(clf, job):
    def stop(progress):
        raise Stop

    with pytest.raises(Stop):
        score_file(clf, job, lines, stop)
    with pytest.raises(ValueError, match="belongs to another job"):
        score_file(clf, replace(job, model="another"), lines)
    other = SWNNClassifier(8, backend="numpy").fit(X, Y)
    with pytest.raises(ValueError, match="belongs to another job"):
        score_file(other, job, lines)


def test_errors_of_reader_and_scorer_come_through(clf, job):
    job.file.write_text("3 12 5\n0 1:1\n0 1:x\n0 1:1\n")
    with pytest.raises(ValueError, match="x"):
        score_file(clf, job, lines)

    def broken(first, labels, scores):
        raise Stop

    write_xmc(job.file, X, Y)
    for path in job.output.parent.glob("out.tsv.*"):
        path.unlink()
    with pytest.raises(Stop):
        score_file(clf, job, broken)


def test_the_command(tmp_path, capsys):
    write_xmc(tmp_path / "train.txt", X, Y)
    train, model = str(tmp_path / "train.txt"), str(tmp_path / "model")
    assert main(["fit", train, "-o", model]) == 0
    for name in ("a.tsv", "a.jsonl"):
        out, wanted = tmp_path / name, tmp_path / f"wanted-{name}"
        assert main(["score", model, train, "-o", str(out), "--rows", "20"]) == 0
        assert main(["predict", model, train, "-o", str(wanted)]) == 0
        assert out.read_text() == wanted.read_text()
    assert json.loads(out.read_text().splitlines()[52])["row"] == 52
    assert "53 rows" in capsys.readouterr().err
    assert main(["score", model, train, "-o", str(out), "-k", "0"]) == 2
