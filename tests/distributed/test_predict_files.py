"""Output parts: the lines of `swnn predict` without a cluster, complete or absent, resumable."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dask
import pytest

from swnn_xp import SWNNClassifier, SWNNRanker, load, write_xmc
from swnn_xp.cli.main import main
from swnn_xp.distributed import OutputOptions, ShardedClassifier, predict_on_cluster
from swnn_xp.distributed.predict_files import OutputParts
from swnn_xp.io import write_names

from .conftest import S

NAMES = [f"label {i}" for i in range(30)]


@pytest.fixture
def job(problem, tmp_path):
    """A model, a file, and what `swnn predict` makes of it without a cluster."""
    X, Y = problem
    SWNNClassifier(n_neighbors=S).fit(X, Y, label_names=NAMES).save(tmp_path / "model")
    write_xmc(tmp_path / "new.txt", X[:330], Y[:330])
    expected = tmp_path / "expected.tsv"
    arguments = ["predict", str(tmp_path / "model"), str(tmp_path / "new.txt"), "-o", str(expected)]
    assert main(arguments) == 0
    return tmp_path / "model", tmp_path / "new.txt", expected.read_text()


def lines_of(out, suffix="tsv"):
    """The parts as one file: their common header once."""
    texts = [file.read_bytes().decode() for file in sorted(out.glob(f"part-*.{suffix}"))]
    if suffix == "jsonl":
        return "".join(texts)
    heads, bodies = zip(*(text.split("\n", 1) for text in texts), strict=True)
    assert len(set(heads)) == 1
    return heads[0] + "\n" + "".join(bodies)


def test_a_killed_save_does_not_block_the_next_one(client, problem, tmp_path):
    made = ShardedClassifier.from_matrices(client, *problem, n_shards=2)
    folder = tmp_path / "shards"
    folder.mkdir()
    (folder / "shards.json.0a1b2c3d.tmp").write_text("half")
    made.save(folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "shard-00000", "shard-00001", "shards.json",
    ]  # fmt: skip
    (folder / "shards.json.mine.tmp").write_text("not of ours")
    with pytest.raises(ValueError, match="no folder of shards to replace"):
        made.save(folder)


def test_parts_are_what_predict_writes(client, job, tmp_path):
    model, file, expected = job
    seen = []
    out = tmp_path / "out"
    run = predict_on_cluster(
        model,
        file,
        out,
        cluster=client,
        options=OutputOptions(rows_per_part=100),
        progress=lambda *x: seen.append(x),
    )
    assert run == (330, 4, 0)
    assert lines_of(out) == expected
    assert seen[-1] == (330, 330)
    assert sorted(seen) == seen


@pytest.mark.parametrize("where", ["bogus:1", "local:0", "tcp://127.0.0.1:1"])
def test_a_cluster_that_is_not_there_leaves_nothing_behind(job, tmp_path, where):
    model, file, _ = job
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        args = ["predict", str(model), str(file), "-o", str(tmp_path / "out"), "--cluster", where]
        assert main(args) == 2
    assert not (tmp_path / "out").exists()


def test_features_are_checked_as_without_a_cluster(client, problem, tmp_path, capsys):
    X, Y = problem
    width = X.shape[1]
    names = [f"feature {i}" for i in range(width)]
    SWNNClassifier(n_neighbors=S).fit(X, Y, feature_names=names).save(tmp_path / "model")
    ShardedClassifier.from_matrices(client, X, Y, n_shards=2).save(tmp_path / "shards")
    (tmp_path / "other").mkdir()
    write_xmc(tmp_path / "narrow.txt", X[:9, : width - 1], Y[:9])
    write_xmc(tmp_path / "other" / "rows.txt", X[:9], Y[:9])
    write_names(tmp_path / "other" / "feature_map.txt", names[::-1])

    def run(model, file, *options):
        out = ["-o", str(tmp_path / f"{model} {file.parent.name}"), "--cluster", "local:1"]
        status = main(["predict", str(tmp_path / model), str(file), *out, *options])
        return status, capsys.readouterr().err

    for model in ("model", "shards"):
        status, message = run(model, tmp_path / "narrow.txt")
        assert status == 2
        assert "its first ones, add --allow-narrower" in message
        assert run(model, tmp_path / "narrow.txt", "--allow-narrower")[0] == 0
    status, message = run("model", tmp_path / "other" / "rows.txt")
    assert status == 2
    assert "the same features in another order" in message
    assert run("model", tmp_path / "other" / "rows.txt", "--ignore-feature-map")[0] == 0
    assert "--cluster reads files, not pipes" in run("model", Path("/dev/stdin"))[1]


def test_shards_and_part_files(client, problem, job, tmp_path):
    _, _, expected = job
    X, Y = problem
    made = ShardedClassifier.from_matrices(client, X, Y, n_shards=3, n_neighbors=S)
    made.save(tmp_path / "shards", label_names=NAMES)
    files = [tmp_path / "a.txt", tmp_path / "b.txt.xz"]
    write_xmc(files[0], X[:150], Y[:150])
    write_xmc(files[1], X[150:330], Y[150:330])
    out = tmp_path / "out"
    run = predict_on_cluster(
        tmp_path / "shards", files, out, cluster=client, options=OutputOptions(rows_per_part=100)
    )
    assert run == (330, 4, 0)
    assert lines_of(out) == expected


def test_json_lines(job, tmp_path, capsys):
    model, file, _ = job
    out, expected = tmp_path / "out", tmp_path / "expected.jsonl"
    arguments = ["predict", str(model), str(file), str(file)]
    assert main([*arguments, "-o", str(expected)]) == 0
    cluster = ["--cluster", "local:1", "--format", "jsonl", "--rows", "200"]
    assert main([*arguments, "-o", str(out), *cluster]) == 0
    assert f"{out}: 660 rows in 4 parts, 0 of them already existed" in capsys.readouterr().out
    assert lines_of(out, "jsonl") == expected.read_text()


def fitted_models(problem, folder):
    """Models of every kind whose probabilities differ."""
    X, Y = problem
    names = {"label_names": NAMES, "feature_names": [f"feature {i}" for i in range(X.shape[1])]}
    SWNNClassifier(n_neighbors=S).fit(X, Y, **names).save(folder / "plain")
    calibrated = SWNNClassifier(n_neighbors=S, calibrate=True, threshold="f1")
    calibrated.fit(X, Y, **names).save(folder / "calibrated")
    SWNNRanker(n_neighbors=S).fit(X, Y, **names).save(folder / "ranker")


def json_rows(path, X):
    with path.open("w") as file:
        for i in range(X.shape[0]):
            row = X[[i]]
            values = {f"feature {f}": float(v) for f, v in zip(row.indices, row.data, strict=True)}
            values["never seen"] = 1.0
            json.dump({"id": f"row {i}" if i % 3 else i, "features": values}, file)
            file.write("\n")


@pytest.mark.parametrize("suffix", ["tsv", "csv", "jsonl"])
def test_every_option_gives_the_bytes_of_a_run_without_a_cluster(problem, tmp_path, suffix, client):
    fitted_models(problem, tmp_path)
    X, Y = problem
    ranked = load(tmp_path / "ranker")
    ShardedClassifier.from_fitted(client, ranked, n_shards=3).save(tmp_path / "shards", NAMES)
    write_xmc(tmp_path / "new.txt", X[:130], Y[:130])
    json_rows(tmp_path / "new.jsonl", X[:70])
    write_names(tmp_path / "ids.txt", [f'id "{i}", of many' for i in range(130)])
    runs = [
        ("plain", "new.txt", "--min-probability", "0.2", "--at-least", "1"),
        ("calibrated", "new.txt", "-k", "3"),
        ("ranker", "new.txt", "--row-map", str(tmp_path / "ids.txt"), "--at-least", "2"),
        ("ranker", "new.jsonl", "--min-probability", "0.5"),
        ("shards", "new.txt", "--min-probability", "0.3", "--at-least", "1"),
    ]
    for number, (model, file, *options) in enumerate(runs):
        out, expected = tmp_path / f"out {number}", tmp_path / f"expected {number}.{suffix}"
        here = tmp_path / ("ranker" if model == "shards" else model)
        assert (
            main(["predict", str(here), str(tmp_path / file), *options, "-o", str(expected)]) == 0
        )
        there = ["-o", str(out), "--cluster", client.scheduler.address, "--format", suffix]
        arguments = ["predict", str(tmp_path / model), str(tmp_path / file), *options, *there]
        assert main([*arguments, "--rows", "50"]) == 0
        assert lines_of(out, suffix) == expected.read_bytes().decode(), (model, options)


def test_a_row_map_of_another_length_is_refused(client, job, tmp_path):
    for count, what in ((329, "fewer"), (331, "more")):
        write_names(tmp_path / "ids.txt", [str(i) for i in range(count)])
        options = OutputOptions(rows_per_part=100, row_map=tmp_path / "ids.txt")
        with pytest.raises(ValueError, match=f"has {what} names than there are rows"):
            predict_on_cluster(*job[:2], tmp_path / f"out {count}", cluster=client, options=options)


def test_names_with_tabs_and_newlines(client, problem, tmp_path):
    X, Y = problem
    names = [f"label\t{i}\nof\rmany\\" for i in range(30)]
    SWNNClassifier(n_neighbors=S).fit(X, Y, label_names=names).save(tmp_path / "model")
    write_xmc(tmp_path / "new.txt", X[:20], Y[:20])
    predict_on_cluster(
        tmp_path / "model", tmp_path / "new.txt", tmp_path / "out", cluster=client, k=2
    )
    lines = (tmp_path / "out" / "part-000000.tsv").read_bytes().decode().split("\n")[1:-1]
    assert len(lines) == 40
    for line in lines:
        _, _, label, _, _ = line.split("\t")
        assert label.startswith("label\\t")
        assert label.endswith("\\nof\\rmany\\\\")


def test_goes_on_where_it_stopped(client, job, tmp_path, monkeypatch):
    model, file, expected = job
    out = tmp_path / "out"
    write = OutputParts.write

    def fail_at_the_third(self, number, *args):
        if len(list(out.glob("part-*"))) == 2:
            raise OSError(28, "No space left on device")
        write(self, number, *args)

    monkeypatch.setattr(OutputParts, "write", fail_at_the_third)
    with pytest.raises(OSError, match="No space left"):
        predict_on_cluster(
            model, file, out, cluster=client, options=OutputOptions(rows_per_part=60)
        )
    monkeypatch.undo()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert len(kept) == 2
    run = predict_on_cluster(
        model, file, out, cluster=client, options=OutputOptions(rows_per_part=60)
    )
    assert run == (330, 6, 2)
    assert lines_of(out) == expected
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


def test_killed_in_the_middle(job, tmp_path):
    """A real kill -9 of the command: every part that is there is complete."""
    model, file, expected = job
    out = tmp_path / "out"
    command = [sys.executable, "-m", "swnn_xp.cli.main", "predict", str(model), str(file)]
    command += ["-o", str(out), "--cluster", "local:1", "--rows", "10"]
    running = subprocess.Popen(command, start_new_session=True)
    while len(list(out.glob("part-*.tsv"))) < 3 and running.poll() is None:
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    there = len(list(out.glob("part-*.tsv")))
    assert 3 <= there
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"330 rows in 33 parts, {there} of them already existed" in run.stdout
    assert lines_of(out) == expected


def test_another_backend_goes_on_with_the_same_job(client, job, tmp_path):
    model, file, expected = job
    out = tmp_path / "out"
    predict_on_cluster(
        model,
        file,
        out,
        cluster=client,
        options=OutputOptions(rows_per_part=100),
        backend="numba",
        n_jobs=2,
    )
    (out / "part-000002.tsv").unlink()
    (out / "part-000002.tsv.0a1b2c3d.tmp").touch()  # as a killed run leaves it
    run = predict_on_cluster(
        model,
        file,
        out,
        cluster=client,
        options=OutputOptions(rows_per_part=100),
        backend="numpy",
        n_jobs=1,
    )
    assert run == (330, 4, 3)
    assert lines_of(out) == expected


@pytest.mark.parametrize("changed", ["k", "rows", "format", "params", "file", "model"])
def test_parts_of_another_job_are_refused(client, problem, job, tmp_path, changed):
    model, file, _ = job
    out = tmp_path / "out"
    predict_on_cluster(model, file, out, cluster=client, options=OutputOptions(rows_per_part=200))
    options = {"options": OutputOptions(rows_per_part=200)}
    if changed == "k":
        options["k"] = 3
    if changed == "rows":
        options["options"] = OutputOptions(rows_per_part=100)
    if changed == "format":
        options["options"] = OutputOptions(rows_per_part=200, format="jsonl")
    if changed == "params":
        options["alpha"] = 2
    if changed == "file":
        os.utime(file, ns=(1, 1))
    if changed == "model":
        SWNNClassifier(n_neighbors=S).fit(*problem).save(model)
    with pytest.raises(ValueError, match="holds parts of another job"):
        predict_on_cluster(model, file, out, cluster=client, **options)


def test_a_folder_with_other_things_is_refused(client, job, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "job.json.0a1b2c3d.tmp").touch()  # as a killed run leaves it
    (tmp_path / "out" / "thesis.doc").touch()
    with pytest.raises(ValueError, match=r"'thesis.doc'"):
        predict_on_cluster(*job[:2], tmp_path / "out", cluster=client)


def test_too_many_features(client, job, tmp_path):
    (tmp_path / "wide.txt").write_text("1 41 30\n0 40:1\n")
    with pytest.raises(ValueError, match=r"wide.txt: X has 41 features.* 40"):
        predict_on_cluster(job[0], tmp_path / "wide.txt", tmp_path / "out", cluster=client)
