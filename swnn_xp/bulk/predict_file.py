"""Predict any number of rows: reading, predicting and writing overlap, in bounded memory."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from swnn_xp.bulk.journal import Mark, ResumableOutput
from swnn_xp.bulk.lines import LineWriter, encode_lines
from swnn_xp.bulk.sources import RowBlock, RowId, RowMap, RowSource, file_identity
from swnn_xp.checks import check_count
from swnn_xp.io import read_pairs
from swnn_xp.io.files import DirectOutput, Writable, can_rewind
from swnn_xp.loading import AnyModel
from swnn_xp.results import RankedProbabilities

_WAITING = 2  # items that may wait between two threads
Item = TypeVar("Item")


def prefetched(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items, which another thread produces ahead of time; its errors are raised here.

    Examples
    --------
    >>> list(prefetched(iter("abc")))
    ['a', 'b', 'c']
    """
    waiting: queue.Queue[tuple[bool, Any]] = queue.Queue(_WAITING)
    stopped = threading.Event()

    def put(entry: tuple[bool, Any]) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put(entry, timeout=0.1)
                return

    def produce() -> None:
        try:
            for item in items:
                put((True, item))
                if stopped.is_set():
                    return
            put((False, None))
        except BaseException as error:
            put((False, error))

    producer = threading.Thread(target=produce, daemon=True)
    producer.start()
    try:
        while (entry := waiting.get())[0]:
            yield entry[1]
        if entry[1] is not None:
            raise entry[1]
    finally:
        stopped.set()
        producer.join()


@dataclass(frozen=True)
class PredictJob:
    """The rows to predict, and how to write the result."""

    sources: tuple[RowSource, ...]
    """Their rows are numbered consecutively."""
    writer: LineWriter
    compression: str = ""
    """``gz``, ``xz`` or nothing."""
    k: int = 5
    """Labels per row, at most."""
    block_rows: int = 4096
    """Rows that are read, predicted and written together."""
    row_map: Path | None = None
    """Ids of the rows, one per line."""
    exclude: Path | None = None
    """Pairs of a row and a label that it must not get, one per line."""
    model: str = ""
    """Identifies the model among others of its shape, such as a digest of its manifest."""

    def __post_init__(self) -> None:
        check_count(self.k, "k")

    @property
    def is_resumable(self) -> bool:
        """Whether all rows can be read again from where a run was interrupted."""
        return all(can_rewind(source.path) for source in self.sources)


class RowsDone(NamedTuple):
    """How far a run has come, in rows."""

    resumed_at: int
    done: int


OnProgress: TypeAlias = Callable[[RowsDone], None]


def no_report(_: RowsDone) -> None:
    """Report nothing."""


class PredictedBlock(NamedTuple):
    """Consecutive rows of a job and their labels."""

    first_row: int
    ids: Sequence[RowId] | None
    best: RankedProbabilities
    end: Mark
    errors: Mapping[int, str]
    """What is wrong with bad rows, by their place in the block."""


def predict_file(
    clf: AnyModel,
    job: PredictJob,
    output: Path,
    on_progress: OnProgress = no_report,
) -> int:
    """Write the best labels of every row to a file; an interrupted run is resumed.

    Parameters
    ----------
    clf : fitted classifier
    job : PredictJob
        Its rows are in files, not in pipes.
    output : path
        Appears when it is complete.
    on_progress : callable, optional
        Called after each written block.

    Returns
    -------
    int
        Number of rows.
    """
    header = encode_lines(job.writer.header, job.compression)
    with ResumableOutput(output, _identity(clf, job), header) as out:
        done = resumed_at = out.start.row
        try:
            for end, text in prefetched(_written(clf, job, out.start)):
                out.append(text, end)
                done = end.row
                on_progress(RowsDone(resumed_at, done))
        except ValueError:
            out.discard()  # bad input stays bad: the run can't be resumed
            raise
        except KeyboardInterrupt:
            if not done:
                out.discard()
            raise
        out.finish()
    return done


def predict_stream(
    clf: AnyModel,
    job: PredictJob,
    output: Writable,
    on_progress: OnProgress = no_report,
) -> int:
    """Write the best labels of every row to an open stream as they are made; return the rows."""
    header, done = encode_lines(job.writer.header, job.compression), 0
    for end, text in _overlapping(job, _written(clf, job, Mark())):
        output.write(header + text)
        output.flush()
        header, done = b"", end.row
        on_progress(RowsDone(0, done))
    output.write(header)  # if there was no row
    output.flush()
    return done


def predict_directly(
    clf: AnyModel,
    job: PredictJob,
    output: Path,
    on_progress: OnProgress = no_report,
) -> int:
    """Write the best labels of every row straight to a pipe, device or file as they are made.

    What an interrupted run has written stays: rows from a pipe do not come again.
    """
    with DirectOutput(output) as out:
        return predict_stream(clf, job, out, on_progress)


def predict_blocks(clf: AnyModel, job: PredictJob, start: Mark) -> Iterator[PredictedBlock]:
    """Predict block by block."""
    k, last = min(job.k, clf.n_labels_), start.row
    filtered = None if job.exclude is None else _Filter(job.exclude)

    def predict(block_and_end: tuple[RowBlock, Mark]) -> PredictedBlock:
        block, end = block_and_end
        first = end.rows_before + block.first_row
        exclude = None if filtered is None else filtered.pairs(first, first + block.X.shape[0])
        best = clf.topk_probabilities(block.X, k=k, exclude=exclude)
        return PredictedBlock(first, block.ids, best, end, block.errors)

    blocks, placement = _overlapping(job, _blocks(job, start)), clf.current_model().placement
    # A pipe's next rows may wait for the answers to these.
    in_turn = placement.overlapped(predict, blocks) if job.is_resumable else map(predict, blocks)
    for predicted in in_turn:
        last = predicted.first_row + predicted.best.labels.shape[0]
        yield predicted
    if filtered is not None:
        filtered.check_end(last)


class _Filter:
    """Labels that rows must not get."""

    def __init__(self, path: Path) -> None:
        pairs = read_pairs(path)
        self._path, self._pairs = path, pairs[np.argsort(pairs[:, 0], kind="stable")]

    def pairs(self, first: int, last: int) -> Any:
        """Pairs of a run of rows, counted from its first."""
        low, high = np.searchsorted(self._pairs[:, 0], [first, last])
        return self._pairs[low:high] - [first, 0]

    def check_end(self, n_rows: int) -> None:
        """Raise ValueError if there are pairs of rows that never came."""
        if self._pairs.size and self._pairs[-1, 0] >= n_rows:
            raise ValueError(
                f"{self._path}: names row {self._pairs[-1, 0]}, but there are {n_rows} rows"
            )


def _written(clf: AnyModel, job: PredictJob, start: Mark) -> Iterator[tuple[Mark, bytes]]:
    for block in _overlapping(job, predict_blocks(clf, job, start)):
        lines = job.writer.lines(block.first_row, block.best, block.ids, block.errors)
        yield block.end, encode_lines(lines, job.compression)


def _overlapping(job: PredictJob, items: Iterator[Item]) -> Iterator[Item]:
    # A thread that waits for a pipe could not be stopped.
    return prefetched(items) if job.is_resumable else items


def _blocks(job: PredictJob, start: Mark) -> Iterator[tuple[RowBlock, Mark]]:
    rows_before, position = start.rows_before, start.position
    row_map = None if job.row_map is None else RowMap(job.row_map, start.row)
    for number, source in enumerate(job.sources[start.file :], start.file):
        rows = position.row if position else 0
        for block in source.blocks(job.block_rows, position):
            rows = block.end.row
            if row_map is not None:
                block = block._replace(ids=row_map.take(block.X.shape[0]))
            yield block, Mark(number, rows_before, block.end)
        rows_before, position = rows_before + rows, None
    if row_map is not None:
        row_map.check_end()


def _identity(clf: AnyModel, job: PredictJob) -> dict[str, Any]:
    """What makes two runs the same job; not the backend, since all give the same answer."""
    return {
        "sources": [source.identity() for source in job.sources],
        "row_map": None if job.row_map is None else file_identity(job.row_map),
        "exclude": None if job.exclude is None else file_identity(job.exclude),
        **job.writer.identity(),
        "compression": job.compression,
        "k": job.k,
        "rows": job.block_rows,
        "model": [job.model, clf.n_samples_fit_, clf.n_features_in_, clf.n_labels_],
        "params": list(clf.current_model().ranking.settings),
    }
