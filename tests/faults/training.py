"""Training under faults: python training.py SEED KILLS ROWS.

`swnn fit --learn ranking` over an older model is killed at random moments, then starved of memory
(RLIMIT_AS) step by step. Each time the folder must hold the older model or the new one, complete,
and a command that fails must say why in one line. The new model must always have the same bytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import io
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import promises

from swnn_xp import SWNNClassifier, SWNNRanker, load, write_xmc
from swnn_xp.cli.main import main as swnn

FEW = 1 << 14  # bytes that the most starved run may add: freed memory of its own may do for more
ENOUGH = 1 << 31


class Ended(NamedTuple):
    status: int
    """Exit code, or minus the signal."""
    said: str


class Fit:
    """A command that trains, the model it replaces, and the one it makes."""

    def __init__(self, folder: Path, n_rows: int) -> None:
        rng = np.random.default_rng(0)
        X = sp.random_array((n_rows, 200), density=0.1, rng=rng, format="csr")
        Y = sp.csr_array((X @ sp.random_array((200, 30), density=0.1, rng=rng)).toarray() > 0.7)
        write_xmc(folder / "train.txt", X, Y)
        self.path = folder / "model"
        self.argv = ["fit", str(folder / "train.txt"), "-o", str(self.path), "--learn", "ranking"]
        self.older = SWNNClassifier(backend="numpy").fit(X, Y)
        self.reset()
        self.old = digest(self.path)
        with contextlib.redirect_stdout(io.StringIO()):
            assert swnn(self.argv) == 0  # in this process: children find everything compiled
            started = time.monotonic()
            assert swnn(self.argv) == 0
        self.seconds = time.monotonic() - started
        self.new = digest(self.path)
        assert self.new != self.old

    def reset(self) -> None:
        self.older.save(self.path)

    def start(self, more_memory: int | None = None) -> tuple[int, int]:
        """A child that trains; its id, and where to read what it says."""
        reader, writer = os.pipe()
        if child := os.fork():
            os.close(writer)
            return child, reader
        status = 99
        try:
            os.dup2(writer, 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            if more_memory is not None:
                limit(more_memory)
            status = swnn(self.argv)
        finally:
            with contextlib.suppress(BaseException):
                sys.stderr.flush()
            os._exit(status)

    def state(self) -> str:
        """Which model is there, whole; AssertionError if neither."""
        found = digest(self.path)
        assert found in (self.old, self.new), "neither the older model nor the new one"
        load(self.path, verify=True)
        return "new" if found == self.new else "old"


def limit(more: int) -> None:
    """Allow this many bytes more of address space; what the parent has freed does not count."""
    ctypes.CDLL(None).malloc_trim(0)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + more, resource.RLIM_INFINITY))


def digest(path: Path) -> str:
    """Of everything that the manifest names: all arrays and the manifest but for its folder."""
    found = hashlib.sha256()
    folders = sorted(path.glob("data-*"))
    name = folders[-1].name if len(folders) == 1 else _named(path)
    for file in sorted((path / name).iterdir()):
        found.update(file.name.encode() + file.read_bytes())
    return found.hexdigest()


def _named(path: Path) -> str:
    text = (path / "manifest.json").read_text()
    return next(folder.name for folder in path.glob("data-*") if folder.name in text)


def ended(child: int, reader: int) -> Ended:
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    return Ended(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said)


def kill(fit: Fit, count: int, rng: np.random.Generator) -> dict[str, int]:
    """How often the older and the new model were found after a kill."""
    found = {"old": 0, "new": 0}
    for _ in range(count):
        fit.reset()
        child, reader = fit.start()
        time.sleep(rng.uniform(0, 1.1 * fit.seconds))
        os.kill(child, signal.SIGKILL)
        end = ended(child, reader)
        assert end.status in (-signal.SIGKILL, 0), end
        found[fit.state()] += 1
    return found


def ceilings() -> Iterator[int]:
    room = FEW
    while room < ENOUGH:
        yield room
        room = int(room * 1.3)


def starve(fit: Fit) -> dict[str, int]:
    """How many ceilings of memory were too low, and how many high enough."""
    found = {"old": 0, "new": 0}
    for room in ceilings():
        fit.reset()
        end = ended(*fit.start(more_memory=room))
        state = fit.state()
        if end.status == 0:
            assert state == "new", room
        else:
            assert (end.status, end.said) == (2, "swnn: error: out of memory\n"), (room, end)
            assert state == "old", room
            assert len(os.listdir(fit.path)) == 2, os.listdir(fit.path)
        found[state] += 1
        if found["new"] == 3:
            break
    return found


def many_labels(count: int = 1_000_000) -> str:
    """CPU time of training 300 rows, one of which has a million labels."""
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 30), density=0.3, rng=rng, format="csr")
    Y = sp.random_array((300, count), density=5 / count, rng=rng, format="csr") != 0
    indices = np.concatenate([Y[:150].indices, np.arange(count), Y[151:].indices])
    sizes = np.diff(Y.indptr)
    sizes[150] = count
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    Y = sp.csr_array((np.ones(indices.size, bool), indices, indptr), shape=(300, count))
    started = time.process_time()
    scores = SWNNRanker().fit(X, Y).predict_topk(X[:20]).scores
    assert np.isfinite(scores).all()
    return f"a row with {count:,} labels: {time.process_time() - started:.0f} s of CPU"


def main() -> None:
    seed, count, n_rows = map(int, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        fit = Fit(Path(name), n_rows)
        killed = kill(fit, count, np.random.default_rng(seed))
        starved = starve(fit)
    figure = (
        f"{count} kills: {killed['old']} times the older model, {killed['new']} times the new one; "
        f"{starved['old']} ceilings of memory too low: one line, nothing written; "
        f"{starved['new']} high enough: the same bytes"
    )
    print(f"training: {figure}")
    if os.environ.get("WRITE"):
        figure += f"; {many_labels()}"
        promises.keep("training", figure)


if __name__ == "__main__":
    main()
