"""Score a file of any length: reading, scoring and writing overlap; a stopped run can be resumed.

Three threads pass blocks along. The output grows in ``OUT.partial``; beside it, ``OUT.journal``
holds a line for the run (what is scored, with what) and one for each block that has been written
completely: where it ends in the input and in the output. A new run of the same job cuts off what
an interrupted block has left and goes on behind the last complete one. At the end the output is
renamed to its own name in one step and the journal removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from swnn_xp.classifier import SWNNClassifier
from swnn_xp.io.blocks import XMCBlock, iter_xmc
from swnn_xp.io.place import Place

_WAITING = 2  # blocks that may wait between two threads
Item = TypeVar("Item")


@dataclass(frozen=True)
class Job:
    """What is to be scored, and how its lines look."""

    file: Path
    output: Path
    k: int
    rows: int
    """Rows of a block."""
    strict: bool = False
    header: str = ""
    """First line of the output."""
    model: str = ""
    """What tells the model from others of its shape, such as a digest of its manifest."""


class Progress(NamedTuple):
    """How far a run has come, in rows of the file."""

    resumed_at: int
    done: int


class _Journal(NamedTuple):
    place: Place | None
    size: int
    """Bytes of the partial output up to the last complete block."""


def score_file(
    clf: SWNNClassifier,
    job: Job,
    lines: Callable[[int, Any, Any], str],
    progress: Callable[[Progress], None] = lambda _: None,
) -> int:
    """Write the best labels of each row of a file.

    Parameters
    ----------
    clf : fitted classifier
    job : Job
    lines : callable
        ``lines(first_row, labels, scores)`` gives the text of one block, from lists of lists.
    progress : callable, optional
        Called after each block that has been written.

    Returns
    -------
    int
        Rows of the file.
    """
    if job.k < 1:
        raise ValueError(f"k must be a whole number of at least 1, got {job.k}")
    partial, journal = _beside(job.output, "partial"), _beside(job.output, "journal")
    identity = _identity(clf, job)
    known = _read_journal(journal, partial, identity)
    resumed_at = known.place.row if known.place else 0
    done = resumed_at
    with partial.open("r+b" if known.size else "wb") as out, journal.open("ab") as log:
        if known.size:
            out.truncate(known.size)
            out.seek(known.size)
        else:
            log.truncate(0)
            _append(out, job.header.encode())
            _append(log, _line(identity) + _line({"place": None, "size": out.tell()}))
        blocks = iter_xmc(job.file, rows=job.rows, resume=known.place, strict=job.strict)
        scored = _scored(clf, job.k, lines, _ahead(blocks))
        for end, text in _ahead(scored):
            _append(out, text)
            _append(log, _line({"place": list(end), "size": out.tell()}))
            done = end.row
            progress(Progress(resumed_at, done))
    partial.replace(job.output)
    journal.unlink()
    return done


def _scored(
    clf: SWNNClassifier,
    k: int,
    lines: Callable[[int, Any, Any], str],
    blocks: Iterator[XMCBlock],
) -> Iterator[tuple[Place, bytes]]:
    for block in blocks:
        labels, scores = clf.predict_topk(block.X, k=k)
        yield block.end, lines(block.first_row, labels.tolist(), scores.tolist()).encode()


def _ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Let another thread make the items while the caller works on those before."""
    waiting: queue.Queue[tuple[bool, Any]] = queue.Queue(_WAITING)
    stopped = threading.Event()

    def put(entry: tuple[bool, Any]) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put(entry, timeout=0.1)
                return

    def make() -> None:
        try:
            for item in items:
                put((True, item))
                if stopped.is_set():
                    return
            put((False, None))
        except BaseException as error:
            put((False, error))

    maker = threading.Thread(target=make, daemon=True)
    maker.start()
    try:
        while (entry := waiting.get())[0]:
            yield entry[1]
        if entry[1] is not None:
            raise entry[1]
    finally:
        stopped.set()
        maker.join()


def _beside(output: Path, what: str) -> Path:
    return output.with_name(f"{output.name}.{what}")


def _identity(clf: SWNNClassifier, job: Job) -> dict[str, Any]:
    """What makes two runs the same job; the backend does not matter, for all answer alike."""
    stat = job.file.stat()
    return {
        "file": str(job.file.resolve()),
        "bytes": stat.st_size,
        "changed": stat.st_mtime_ns,
        "header": job.header,
        "k": job.k,
        "rows": job.rows,
        "strict": job.strict,
        "model": [job.model, clf.n_samples_fit_, clf.n_features_in_, clf.n_labels_],
        "params": [int(clf.n_neighbors), float(clf.alpha), float(clf.beta)],
    }


def _read_journal(journal: Path, partial: Path, identity: dict[str, Any]) -> _Journal:
    """Last complete block of an earlier run of this job; nothing if there is none."""
    if not journal.is_file() or not partial.is_file():
        return _Journal(None, 0)
    entries = []
    for line in journal.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break  # cut off while it was written
        entries.append(json.loads(line))
    if len(entries) < 2:
        return _Journal(None, 0)
    if entries[0] != identity:
        raise ValueError(
            f"{journal} belongs to another job; to start anew, remove it and {partial.name}"
        )
    place, size = entries[-1]["place"], int(entries[-1]["size"])
    if partial.stat().st_size < size:
        return _Journal(None, 0)
    return _Journal(Place(*place) if place else None, size)


def _append(file: BinaryIO, text: bytes) -> None:
    file.write(text)
    file.flush()
    os.fsync(file.fileno())


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"
