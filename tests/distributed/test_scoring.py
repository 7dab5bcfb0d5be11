"""Part files: the same lines as `swnn predict`, complete or absent, resumed where they stopped."""

import os
import signal
import subprocess
import sys
import time

import pytest

from swnn_xp import SWNNClassifier, write_xmc
from swnn_xp.cli.main import main
from swnn_xp.distributed import ShardedClassifier, parts, score_on_cluster

from .conftest import S

NAMES = [f"label {i}" for i in range(30)]


@pytest.fixture
def job(problem, tmp_path):
    """A model, a file to score, and what `swnn predict` makes of it."""
    X, Y = problem
    SWNNClassifier(n_neighbors=S).fit(X, Y, label_names=NAMES).save(tmp_path / "model")
    write_xmc(tmp_path / "new.txt", X[:330], Y[:330])
    expected = tmp_path / "expected.tsv"
    arguments = ["predict", str(tmp_path / "model"), str(tmp_path / "new.txt"), "-o", str(expected)]
    assert main(arguments) == 0
    return tmp_path / "model", tmp_path / "new.txt", expected.read_text()


def lines_of(out):
    files = sorted(out.glob("part-*.tsv"))
    texts = [file.read_text().split("\n", 1) for file in files]
    assert {head for head, _ in texts} == {"row\trank\tlabel\tscore"}
    return "row\trank\tlabel\tscore\n" + "".join(body for _, body in texts)


def test_parts_are_what_predict_writes(client, job, tmp_path):
    model, file, expected = job
    seen = []
    out = tmp_path / "out"
    scored = score_on_cluster(
        model, file, out, cluster=client, rows_per_part=100, progress=lambda *x: seen.append(x)
    )
    assert scored == (330, 4, 0)
    assert lines_of(out) == expected
    assert seen[-1] == (330, 330)
    assert sorted(seen) == seen


def test_shards_and_part_files(client, problem, job, tmp_path):
    _, _, expected = job
    X, Y = problem
    made = ShardedClassifier.from_matrices(client, X, Y, n_shards=3, n_neighbors=S)
    made.save(tmp_path / "shards", label_names=NAMES)
    files = [tmp_path / "a.txt", tmp_path / "b.txt.xz"]
    write_xmc(files[0], X[:150], Y[:150])
    write_xmc(files[1], X[150:330], Y[150:330])
    out = tmp_path / "out"
    scored = score_on_cluster(tmp_path / "shards", files, out, cluster=client, rows_per_part=100)
    assert scored == (330, 4, 0)
    assert lines_of(out) == expected


def test_goes_on_where_it_stopped(client, job, tmp_path, monkeypatch):
    model, file, expected = job
    out = tmp_path / "out"
    write = parts.Parts.write

    def fail_at_the_third(self, number, *args):
        if len(list(out.glob("part-*"))) == 2:
            raise OSError(28, "No space left on device")
        write(self, number, *args)

    monkeypatch.setattr(parts.Parts, "write", fail_at_the_third)
    with pytest.raises(OSError, match="No space left"):
        score_on_cluster(model, file, out, cluster=client, rows_per_part=60)
    monkeypatch.undo()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert len(kept) == 2
    scored = score_on_cluster(model, file, out, cluster=client, rows_per_part=60)
    assert scored == (330, 6, 2)
    assert lines_of(out) == expected
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


def test_killed_in_the_middle(job, tmp_path):
    """A real kill -9 of the command: every part that is there is complete."""
    model, file, expected = job
    out = tmp_path / "out"
    command = [sys.executable, "-m", "swnn_xp.cli.main", "score", str(model), str(file)]
    command += ["-o", str(out), "--cluster", "local:1", "--rows", "10"]
    running = subprocess.Popen(command, start_new_session=True)
    while len(list(out.glob("part-*.tsv"))) < 3 and running.poll() is None:
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    there = len(list(out.glob("part-*.tsv")))
    assert 3 <= there
    scored = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"330 rows in 33 parts, {there} of them there already" in scored.stdout
    assert lines_of(out) == expected


def test_another_backend_goes_on_with_the_same_job(client, job, tmp_path):
    model, file, expected = job
    out = tmp_path / "out"
    score_on_cluster(model, file, out, cluster=client, rows_per_part=100, backend="numba", n_jobs=2)
    (out / "part-000002.tsv").unlink()
    (out / "part-000002.tsv.0a1b2c3d.tmp").touch()  # as a killed run leaves it
    scored = score_on_cluster(
        model, file, out, cluster=client, rows_per_part=100, backend="numpy", n_jobs=1
    )
    assert scored == (330, 4, 3)
    assert lines_of(out) == expected


@pytest.mark.parametrize("changed", ["k", "rows", "params", "file", "model"])
def test_parts_of_another_job_are_refused(client, problem, job, tmp_path, changed):
    model, file, _ = job
    out = tmp_path / "out"
    score_on_cluster(model, file, out, cluster=client, rows_per_part=200)
    options = {"rows_per_part": 200}
    if changed == "k":
        options["k"] = 3
    if changed == "rows":
        options["rows_per_part"] = 100
    if changed == "params":
        options["alpha"] = 2
    if changed == "file":
        os.utime(file, ns=(1, 1))
    if changed == "model":
        SWNNClassifier(n_neighbors=S).fit(*problem).save(model)
    with pytest.raises(ValueError, match="holds parts of another job"):
        score_on_cluster(model, file, out, cluster=client, **options)


def test_a_folder_with_other_things_is_refused(client, job, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "job.json.0a1b2c3d.tmp").touch()  # as a killed run leaves it
    (tmp_path / "out" / "thesis.doc").touch()
    with pytest.raises(ValueError, match=r"'thesis.doc'"):
        score_on_cluster(*job[:2], tmp_path / "out", cluster=client)


def test_too_many_features(client, job, tmp_path):
    (tmp_path / "wide.txt").write_text("1 41 30\n0 40:1\n")
    with pytest.raises(ValueError, match=r"wide.txt: X has 41 features.* 40"):
        score_on_cluster(job[0], tmp_path / "wide.txt", tmp_path / "out", cluster=client)
