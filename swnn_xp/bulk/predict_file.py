"""Predict files of any length: reading, predicting and writing overlap, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from swnn_xp._checks import check_count
from swnn_xp.bulk.inputs import check_file_width, file_identity
from swnn_xp.bulk.journal import Mark, ResumableOutput
from swnn_xp.bulk.lines import LineWriter
from swnn_xp.bulk.prefetch import prefetched
from swnn_xp.io.blocks import iter_xmc
from swnn_xp.loading import AnyModel


@dataclass(frozen=True)
class PredictJob:
    """The rows to predict, and how to write the result."""

    files: tuple[Path, ...]
    """Their rows are numbered consecutively."""
    writer: LineWriter
    k: int = 5
    """Labels per row, at most."""
    block_rows: int = 4096
    """Rows that are read, predicted and written together."""
    strict: bool = False
    """Refuse files that are not exactly in the format."""
    model: str = ""
    """Identifies the model among others of its shape, such as a digest of its manifest."""


class Progress(NamedTuple):
    """How far a run has come, in rows."""

    resumed_at: int
    done: int


class _Block(NamedTuple):
    X: Any
    first_row: int
    end: Mark


def predict_file(
    clf: AnyModel,
    job: PredictJob,
    output: Path,
    progress: Callable[[Progress], None] = lambda _: None,
) -> int:
    """Write the best labels of every row to a file; an interrupted run is resumed.

    Parameters
    ----------
    clf : fitted classifier
    job : PredictJob
    output : path
        Appears when it is complete.
    progress : callable, optional
        Called after each written block.

    Returns
    -------
    int
        Number of rows.
    """
    check_count(job.k, "k")
    header = job.writer.format.header
    with ResumableOutput(output, _identity(clf, job), header) as out:
        done = resumed_at = out.start.row
        try:
            for end, text in prefetched(_predicted(clf, job, out.start)):
                out.append(text.encode(), end)
                done = end.row
                progress(Progress(resumed_at, done))
        except ValueError:
            out.discard()  # bad input stays bad: the run can't be resumed
            raise
        out.finish()
    return done


def predict_stream(clf: AnyModel, job: PredictJob, output: IO[str]) -> int:
    """Write the best labels of every row to an open stream; return the number of rows."""
    check_count(job.k, "k")
    header, done = job.writer.format.header, 0
    for end, text in prefetched(_predicted(clf, job, Mark())):
        output.write(header + text)
        output.flush()
        header, done = "", end.row
    output.write(header)  # if there was no row
    return done


def _predicted(clf: AnyModel, job: PredictJob, start: Mark) -> Iterator[tuple[Mark, str]]:
    for block in prefetched(_blocks(job, start, clf.n_features_in_)):
        best = clf.predict_topk(block.X, k=job.k)
        yield block.end, job.writer.lines(block.first_row, best)


def _blocks(job: PredictJob, start: Mark, n_features: int) -> Iterator[_Block]:
    rows_before, position = start.rows_before, start.position
    for number, file in enumerate(job.files[start.file :], start.file):
        rows = position.row if position else 0
        for block in iter_xmc(
            file, job.block_rows, resume=position, header="auto", strict=job.strict
        ):
            check_file_width(file, block.X.shape[1], n_features)
            rows = block.end.row
            mark = Mark(number, rows_before, block.end)
            yield _Block(block.X, rows_before + block.first_row, mark)
        rows_before, position = rows_before + rows, None


def _identity(clf: AnyModel, job: PredictJob) -> dict[str, Any]:
    """What makes two runs the same job; not the backend, since all give the same answer."""
    return {
        "files": [file_identity(file) for file in job.files],
        **job.writer.identity(),
        "k": job.k,
        "rows": job.block_rows,
        "strict": job.strict,
        "model": [job.model, clf.n_samples_fit_, clf.n_features_in_, clf.n_labels_],
        "params": list(clf._settings()),
    }
