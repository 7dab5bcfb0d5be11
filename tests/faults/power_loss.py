"""Lose power at every moment of saving and predicting, in many of the ways that POSIX allows.

python power_loss.py MOST [SEED]. A child process does the work with `record_writes.c` preloaded.
From its calls `disk_states.py` derives what the disk may hold: every combination of a moment that
has at most MOST of them, else every one that a reader can tell apart (`visible.py`), and some more.
Every such disk is written out, opened and used.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parent))  # pytest imports this file, too

import promises
from disk_states import MARKER, Disk, disk_states, read_log, write_state
from visible import visible

from swnn_xp import SWNNClassifier, SWNNRanker, load, write_xmc
from swnn_xp.bulk.lines import FORMATS, LineWriter
from swnn_xp.bulk.predict_file import PredictJob, predict_file
from swnn_xp.bulk.sources import RepositoryRows
from swnn_xp.store import StoreError, open_arrays, save_arrays

HERE = Path(__file__).resolve().parent
RNG = np.random.default_rng(0)
X = sp.random_array((24, 8), density=0.4, rng=RNG, format="csr")
Y = sp.random_array((24, 4), density=0.4, rng=RNG, format="csr")
Y.data[:] = 1
SMALL = {"a": np.arange(3), "b": np.ones(2)}


def classifier(rows):
    names = [f"row {i}" for i in range(rows)]
    return SWNNClassifier(3, backend="numpy").fit(X[:rows], Y[:rows], row_names=names)


def ranker(seed):
    return SWNNRanker(3, random_state=seed, backend="numpy").fit(X, Y)


def append(folder):
    load(folder).partial_fit(X[20:22], Y[20:22], row_names=["x", "y"]).remove([1]).save(folder)


def compact(folder):
    append_and_compact = load(folder).partial_fit(X[20:21], Y[20:21], row_names=["x"]).remove([1])
    append_and_compact.compact().save(folder)


def relearn(folder):
    load(folder).partial_fit(X[:2], Y[:2]).relearn().save(folder)


def compress(folder):
    load(folder).compress(0.5).save(folder)


# What is there before, and what is done to it.
SAVES = {
    "store": (lambda folder: save_arrays(folder, SMALL, {"v": 1}),
              lambda folder: save_arrays(folder, SMALL | {"c": np.zeros(1)}, {"v": 2})),
    "first save": (lambda folder: None,
                   lambda folder: save_arrays(folder, SMALL, {"v": 2}, {"names": ["x"]})),
    "classifier": (lambda folder: classifier(20).save(folder),
                   lambda folder: classifier(24).save(folder)),
    "append": (lambda folder: classifier(20).save(folder), append),
    "compact": (lambda folder: classifier(20).save(folder), compact),
    "ranker": (lambda folder: (ranker(0).save(folder),
                               ranker(1).save(folder.parents[1] / "next")),
               lambda folder: load(folder.parents[1] / "next").save(folder)),
    "relearn": (lambda folder: ranker(0).save(folder), relearn),
    "compress": (lambda folder: classifier(20).save(folder), compress),
    "compress a ranker": (lambda folder: ranker(0).save(folder), compress),
}  # fmt: skip


def job(root):
    model = classifier(20)
    rows = (RepositoryRows(root.parent / "input.txt", model.n_features_in_),)
    return model, PredictJob(rows, LineWriter(FORMATS["tsv"]), k=2, block_rows=8)


def work(what, root):
    """What the child does; every report is one write to a file that is not on the disk."""
    with open(root / MARKER, "wb", buffering=0) as report:
        if what == "predict":
            model, todo = job(root)
            predict_file(model, todo, root / "out.tsv", lambda p: report.write(b"%d" % p.done))
        else:
            SAVES[what][1](root / "model")
        report.write(b"finished")


def record(what, root):
    """Run the child; return the disk as it was before, and what the child did to it."""
    recorder, log = root.parent / "recorder.so", root.parent / "log"
    source = HERE / "record_writes.c"
    compiler = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", recorder, source]
    subprocess.run([*compiler, "-ldl", "-lpthread"], check=True)
    disk = Disk(root)
    watched = {"LD_PRELOAD": str(recorder), "RECORD_ROOT": str(root), "RECORD_LOG": str(log)}
    command = [sys.executable, __file__, "work", what, root]
    subprocess.run(command, check=True, env=os.environ | watched)
    (root / MARKER).unlink()
    return disk, read_log(log)


def content(folder):
    """Digest of a model; "nothing" where there is none."""
    if not (folder / "manifest.json").exists():
        return "nothing"
    found = open_arrays(folder, verify=True)
    names = {name: list(texts) for name, texts in found.names.items()}
    digest = hashlib.sha256(json.dumps([found.meta, names], sort_keys=True).encode())
    for name, array in sorted(found.arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def check_save(folder, state, old, new):
    model = folder / "model"
    found = content(model) if model.exists() else "nothing"
    assert found in ((new,) if "finished" in state.reported else (old, new)), found
    if state.step % 5 == 0:  # and it can be replaced, which leaves nothing behind
        model.mkdir(exist_ok=True)
        save_arrays(model, SMALL, {"v": 3})
        assert open_arrays(model, verify=True).meta == {"v": 3}
        assert len(os.listdir(model)) == 2, os.listdir(model)


class Interrupted(Exception):
    pass


def check_prediction(folder, state, expected):
    """Resume for one block, be interrupted, resume to the end."""
    out = folder / "out.tsv"
    if "finished" in state.reported:
        assert out.read_bytes() == expected
        return
    model, todo = job(folder)
    starts = []

    def interrupt(progress):
        starts.append(progress.resumed_at)
        raise Interrupted

    if out.exists():
        assert out.read_bytes() == expected
    else:
        try:
            predict_file(model, todo, out, interrupt)
        except Interrupted:
            reported = max([int(rows) for rows in state.reported], default=0)
            assert starts[0] >= min(reported, 16), (starts, state.reported)
    predict_file(model, todo, out)
    assert out.read_bytes() == expected
    assert sorted(os.listdir(folder)) == ["out.tsv"], os.listdir(folder)


def prepare(what, root):
    if what == "predict":
        write_xmc(root.parent / "input.txt", X, Y)
    else:
        (root / "model").parent.mkdir(exist_ok=True)
        SAVES[what][0](root / "model")


class Tried(NamedTuple):
    disks: int
    moments: int
    complete: int
    """Moments of which every combination was tried, or every one that a reader can notice."""


def try_all(what, most, seed):
    """Every disk that a loss of power may leave must be whole."""
    complete = []
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch).resolve() / "disk"
        root.mkdir()
        prepare(what, root)
        old = content(root / "model")
        disk, calls = record(what, root)
        expected = (root / "out.tsv").read_bytes() if what == "predict" else content(root / "model")
        tried = 0
        noticed = None if what == "predict" else visible
        for state in disk_states(disk, calls, most, seed, complete, noticed):
            tried += 1
            folder = Path(scratch) / "after"
            folder.mkdir()
            write_state(state.files, folder)
            try:
                if what == "predict":
                    check_prediction(folder, state, expected)
                else:
                    check_save(folder, state, old, expected)
            except (AssertionError, StoreError, OSError, ValueError) as error:
                raise AssertionError(
                    f"{what}: power lost after call {state.step}, {state.reported} reported, disk "
                    f"{ {name: data and len(data) for name, data in state.files.items()} }"
                ) from error
            shutil.rmtree(folder)
        return Tried(tried, len(complete), sum(complete))


def main():
    most, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found = []
    for what in sys.argv[3:] or (*SAVES, "predict"):
        found.append(try_all(what, most, seed))
        print(f"{what}: {said(found[-1])}", flush=True)
    total = Tried(*map(sum, zip(*found, strict=True)))
    print(f"power lost: {said(total)}")
    if os.environ.get("WRITE"):
        works = ", ".join(sys.argv[3:] or ("all works",))
        promises.keep("power-loss", f"{said(total)} ({works})")


def said(tried):
    return (
        f"{tried.disks:,} different disks, none broken; at {tried.complete} of {tried.moments} "
        "moments every disk that a reader can tell apart"
    )


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(sys.argv[2], Path(sys.argv[3]))
    else:
        main()
