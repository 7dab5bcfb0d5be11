"""Kill saving, appending, compacting and predicting at random moments; nothing reported is lost.

python kills.py SEED COUNT. A child process works in a loop and reports each finished step to its
parent. The parent kills it at a random moment, opens what is on the disk and compares: it is the
last reported state or the one the child was about to reach, complete, and at most one step has left
files behind. Then the next child continues from there.
"""

from __future__ import annotations

import collections
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import promises

from swnn_xp import SWNNClassifier, SWNNRanker, load
from swnn_xp.bulk.lines import FORMATS, LineWriter
from swnn_xp.bulk.predict_file import PredictJob, predict_file
from swnn_xp.bulk.sources import RepositoryRows
from swnn_xp.io import read_xmc, write_xmc

FEATURES, LABELS = 30, 8
RNG = np.random.default_rng(0)
X = sp.random_array((400, FEATURES), density=0.3, rng=RNG, format="csr")
Y = sp.random_array((400, LABELS), density=0.3, rng=RNG, format="csr") != 0


class Models:
    """Save, append and compact: state v of the model has the ids and the names that it must."""

    def __init__(self, folder: Path, what: str) -> None:
        self.path, self.what = folder / what, what
        names = [f"row {i}" for i in range(200)]
        SWNNClassifier(n_neighbors=9).fit(X[:200], Y[:200], row_names=names).save(self.path)
        self.reported = 200

    def work(self, report) -> None:
        while True:
            clf = SWNNClassifier.load(self.path)
            state = clf.model_.next_id
            if self.what != "save":
                at = state % 400
                clf.partial_fit(X[[at]], Y[[at]], row_names=[f"row {state}"])
                clf.remove(int(clf.model_.row_ids[0]) if clf.model_.row_ids is not None else 0)
            else:  # a fresh model each time
                n = 200 + (state - 199) % 200
                names = [f"row {i}" for i in range(n)]
                clf = SWNNClassifier(n_neighbors=9).fit(X[:n], Y[:n], row_names=names)
            if self.what == "compact":
                clf.compact()
            clf.save(self.path)
            report(clf.model_.next_id)

    def check(self) -> None:
        clf = SWNNClassifier.load(self.path, verify=True)
        state = clf.model_.next_id
        following = 200 + (self.reported - 199) % 200 if self.what == "save" else self.reported + 1
        assert state in (self.reported, following), (state, self.reported)
        assert clf.row_names_ == [f"row {i}" for i in range(state)]
        alive = state if self.what == "save" else 200
        assert clf.n_samples_fit_ == alive
        rows = X[np.arange(state - alive, state) % 400]
        sims, ids = clf.kneighbors(rows, n_neighbors=alive)
        fresh = SWNNClassifier().fit(rows, np.zeros((alive, 1))).kneighbors(rows, alive)
        np.testing.assert_array_equal(sims, fresh.similarities)
        np.testing.assert_array_equal(ids, np.where(fresh.ids >= 0, fresh.ids + state - alive, -1))
        # manifest and data, and at most those of one interrupted save
        assert len(os.listdir(self.path)) <= 4, os.listdir(self.path)
        self.reported = state

    def interrupted(self) -> bool:
        return len(os.listdir(self.path)) > 2


class Rankers:
    """Save one of two ranked models in turn: the folder holds one of them, whole."""

    def __init__(self, folder: Path, what: str) -> None:
        self.path, self.reported = folder / what, 0
        self.rankers = [SWNNRanker(n_neighbors=9).fit(X[:n], Y[:n]) for n in (200, 230)]
        self.answers = [clf.predict_topk(X) for clf in self.rankers]
        self.rankers[0].save(self.path)

    def work(self, report) -> None:
        state = self.reported
        while True:
            state += 1
            self.rankers[state % 2].save(self.path)
            report(state)

    def check(self) -> None:
        clf = load(self.path, verify=True)
        state = (clf.n_samples_fit_ - 200) // 30
        for mine, its in zip(clf.predict_topk(X), self.answers[state], strict=True):
            np.testing.assert_array_equal(mine, its)
        self.reported += state != self.reported % 2  # the one that was about to be reported
        assert len(os.listdir(self.path)) <= 4, os.listdir(self.path)

    def interrupted(self) -> bool:
        return len(os.listdir(self.path)) > 2


class Predictions:
    """Predict a file: each run resumes after the last block that was reported."""

    def __init__(self, folder: Path, what: str) -> None:
        write_xmc(folder / "queries.txt", X, Y)
        self.clf = SWNNClassifier(n_neighbors=9).fit(X[:200], Y[:200])
        self.output, self.reported, self.finished = folder / "labels", 0, 0
        writer = LineWriter(FORMATS["jsonl"])
        rows = RepositoryRows(folder / "queries.txt", X.shape[1])
        self.job = PredictJob((rows,), writer, k=3, block_rows=10)
        best = self.clf.topk_probabilities(read_xmc(folder / "queries.txt")[0], k=3)
        self.whole = writer.lines(0, best)

    def work(self, report) -> None:
        def progress(now):
            report(now.done if now.resumed_at >= self.reported else -1)

        predict_file(self.clf, self.job, self.output, progress)
        report(10_000)
        time.sleep(60)

    def check(self) -> None:
        assert self.reported >= 0, "a reported block was predicted again"
        here = {path.name for path in self.output.parent.iterdir()} - {"queries.txt"}
        assert here <= {"labels", "labels.partial", "labels.journal"}
        if "labels" in here:
            assert self.output.read_text() == self.whole
            if self.reported == 10_000:
                assert here == {"labels"}, here
                self.finished += 1
            # A kill between the renaming and the removal leaves the journal: see the next run.
            self.output.unlink()
            self.reported = 0
        elif self.reported == 10_000:
            raise AssertionError("the output is lost")

    def interrupted(self) -> bool:
        return self.output.with_name("labels.journal").exists()


KINDS = {
    "save": Models, "append": Models, "compact": Models, "rank": Rankers, "predict": Predictions,
}  # fmt: skip


def run_and_kill(task, seconds: float) -> None:
    """Let a child work, kill it after some time, and keep its last report."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            task.work(lambda state: os.write(writer, state.to_bytes(8, "little", signed=True)))
        finally:
            os._exit(status)
    os.close(writer)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), "the child ended by itself: an error"
    with os.fdopen(reader, "rb") as pipe:
        reported = pipe.read()
    for at in range(0, len(reported), 8):
        task.reported = int.from_bytes(reported[at : at + 8], "little", signed=True)
        assert task.reported >= 0, "a reported block was predicted again"


def main() -> None:
    seed, count = map(int, sys.argv[1:])
    rng = np.random.default_rng(seed)
    kills: collections.Counter[str] = collections.Counter()
    midway = 0
    with tempfile.TemporaryDirectory() as name:
        tasks = {}
        for kind, task in KINDS.items():
            (Path(name) / f"of {kind}").mkdir()
            tasks[kind] = task(Path(name) / f"of {kind}", kind)
        tasks["append"].check()  # compiles what the children need
        for number in range(count):
            kind = list(KINDS)[number % len(KINDS)]
            run_and_kill(tasks[kind], rng.uniform(0.002, 0.12))
            midway += tasks[kind].interrupted()
            tasks[kind].check()
            kills[kind] += 1
    print(", ".join(f"{count} kills of {kind}" for kind, count in kills.items()), end="; ")
    print(f"{midway} during a write")
    if os.environ.get("WRITE"):
        promises.keep("kills", f"{count} kills, {midway} of them during a write: nothing lost")


if __name__ == "__main__":
    main()
