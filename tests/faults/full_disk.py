"""Save a model where there is no room; run as a program, for it limits itself.

python full_disk.py FOLDER: on a small file system it saves larger and larger models until they do
not fit. python full_disk.py FOLDER BYTES: no file may grow beyond 0, 1/20, 2/20 ... of that
many bytes. Each time a save fails, the model before must be there, whole, and nothing else.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np

from swnn_xp import SWNNClassifier
from swnn_xp.bulk.lines import FORMATS, LineWriter
from swnn_xp.bulk.predict_file import PredictJob, predict_file
from swnn_xp.bulk.sources import RepositoryRows
from swnn_xp.io import write_xmc


def fitted(n: int) -> SWNNClassifier:
    rng = np.random.default_rng(n)
    X = rng.random((n, 20)) * (rng.random((n, 20)) < 0.5)
    return SWNNClassifier(n_neighbors=3).fit(X, rng.random((n, 5)) < 0.5)


def save_or_keep(clf: SWNNClassifier, path: Path, before: int) -> bool:
    """Save, and check that a failure leaves the model of ``before`` rows; whether it was saved."""
    try:
        clf.save(path)
    except OSError:
        saved = False
    else:
        saved = True
    clf = SWNNClassifier.load(path, verify=True)
    assert saved or clf.n_samples_fit_ == before, (clf.n_samples_fit_, before)
    assert len(os.listdir(path)) == 2, os.listdir(path)
    return saved


def on_a_small_disk(folder: Path) -> int:
    path, rows, failures = folder / "model", 10, 0
    fitted(rows).save(path)
    for n in [*range(100, 4000, 150), 50, 3900, 20]:
        if save_or_keep(fitted(n), path, rows):
            rows = n
        else:
            failures += 1
    return failures


def limited(limit: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))


def with_small_files(folder: Path, largest: int) -> int:
    path, failures = folder / "model", 0
    fitted(10).save(path)
    for part in range(20):
        limited(largest * part // 20)
        failures += not save_or_keep(fitted(1000), path, 10)
        limited(resource.RLIM_INFINITY)
        fitted(10).save(path)
    return failures + predicting_stops_and_resumes(folder)


def predicting_stops_and_resumes(folder: Path) -> int:
    write_xmc(folder / "queries.txt", np.eye(20), np.ones((20, 1)))
    job = PredictJob(
        (RepositoryRows(folder / "queries.txt", 20),),
        LineWriter(FORMATS["jsonl"]),
        k=2,
        block_rows=3,
    )
    clf = fitted(30)
    limited(900)  # room for the journal's first line and a few blocks, not for all
    try:
        predict_file(clf, job, folder / "labels")
    except OSError:
        failures = 1
    limited(resource.RLIM_INFINITY)
    resumed = []
    done = predict_file(clf, job, folder / "labels", lambda now: resumed.append(now.resumed_at))
    assert done == 20
    assert 0 < resumed[0] < 20, resumed
    rows = [json.loads(line)["row"] for line in (folder / "labels").read_text().splitlines()]
    assert rows == list(range(20))
    assert sorted(os.listdir(folder)) == ["labels", "model", "queries.txt"]
    return failures


def warm_up() -> None:
    """Fill numba's cache while there is room: all that is compiled later is read from it."""
    clf = fitted(100)
    clf.kneighbors(np.eye(20))
    with tempfile.TemporaryDirectory() as folder:
        clf.save(Path(folder) / "model")
        SWNNClassifier.load(Path(folder) / "model", verify=True)
        file = Path(folder) / "queries.txt"
        write_xmc(file, np.eye(20), np.ones((20, 1)))
        job = PredictJob(
            (RepositoryRows(file, 20),), LineWriter(FORMATS["jsonl"]), k=2, block_rows=3
        )
        predict_file(clf, job, Path(folder) / "labels")


def main() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    folder = Path(sys.argv[1])
    warm_up()
    if len(sys.argv) > 2:
        failures = with_small_files(folder, int(sys.argv[2]))
    else:
        failures = on_a_small_disk(folder)
    print(f"{failures} failed")


if __name__ == "__main__":
    main()
