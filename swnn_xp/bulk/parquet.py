"""Predictions as a Parquet file: a row for each row and label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from swnn_xp.bulk.journal import Mark
from swnn_xp.bulk.lines import LineWriter, RowAnswer, row_answers
from swnn_xp.bulk.predict_file import OnProgress, PredictJob, RowsDone, no_report, predict_blocks
from swnn_xp.io.files import open_atomic
from swnn_xp.loading import AnyModel


def predict_parquet(
    clf: AnyModel,
    job: PredictJob,
    output: Path,
    on_progress: OnProgress = no_report,
) -> int:
    """Write the best labels of every row to a Parquet file, which appears when it is complete.

    Its footer comes last, so an interrupted run can't be resumed.

    Returns
    -------
    int
        Number of rows.
    """
    arrow, parquet = import_pyarrow()
    schema = _schema(arrow, job.writer)
    done = 0
    with open_atomic(output) as file, parquet.ParquetWriter(file, schema) as writer:
        for block in predict_blocks(clf, job, Mark()):
            answers = list(
                row_answers(block.first_row, block.best, block.ids, job.writer.threshold)
            )
            writer.write_table(arrow.table(_columns(answers, job.writer), schema=schema))
            done = block.end.row
            on_progress(RowsDone(0, done))
    return done


def import_pyarrow() -> tuple[Any, Any]:
    """Import pyarrow, or say what is missing."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install pyarrow") from None
    return pyarrow, pyarrow.parquet


def _schema(arrow: Any, writer: LineWriter) -> Any:
    fields = [("row", arrow.int64())]
    if writer.columns.ids:
        fields.append(("id", arrow.string()))
    fields += [("rank", arrow.int32()), ("label", arrow.int64())]
    if writer.label_names:
        fields.append(("name", arrow.string()))
    fields.append(("score", arrow.float64()))
    if writer.columns.probabilities:
        fields.append(("probability", arrow.float64()))
    return arrow.schema(fields)


def _columns(answers: list[RowAnswer], writer: LineWriter) -> dict[str, list[Any]]:
    labels = [label for answer in answers for label in answer.labels]
    columns: dict[str, list[Any]] = {
        "row": [answer.row for answer in answers for _ in answer.labels],
        "rank": [rank for answer in answers for rank, _ in enumerate(answer.labels, 1)],
        "label": labels,
        "score": [score for answer in answers for score in answer.scores],
    }
    if writer.columns.ids:
        texts = [None if answer.id is None else str(answer.id) for answer in answers]
        counted = zip(texts, answers, strict=True)
        columns["id"] = [text for text, answer in counted for _ in answer.labels]
    if writer.label_names:
        columns["name"] = [writer.label_names[label] for label in labels]
    if writer.columns.probabilities:
        columns["probability"] = [p for answer in answers for p in answer.probabilities or ()]
    return columns
