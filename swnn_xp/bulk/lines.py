"""Predictions as text: TSV, CSV and JSON lines, with which labels and in which columns."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from swnn_xp.bulk.sources import RowId
from swnn_xp.io.files import PathLike
from swnn_xp.results import RankedProbabilities, Ranking


class RowAnswer(NamedTuple):
    """The labels of one row, best first."""

    row: int
    id: RowId
    labels: list[int]
    scores: list[float]
    probabilities: list[float] | None
    error: str | None = None
    """What is wrong with the row; then it has no labels."""


@dataclass(frozen=True)
class Threshold:
    """Which of the ranked labels are written.

    Examples
    --------
    >>> Threshold(min_probability=0.5, at_least=1).count([0.4, 0.3])
    1
    """

    min_probability: float = 0.0
    """Less probable labels are left out."""
    at_least: int = 0
    """Labels that a row keeps even if they are less probable."""

    def __post_init__(self) -> None:
        if not 0 <= self.min_probability <= 1 or math.isnan(self.min_probability):
            raise ValueError(f"min_probability must be from 0 to 1, got {self.min_probability!r}")
        if self.at_least < 0:
            raise ValueError(f"at_least must be at least 0, got {self.at_least!r}")

    def count(self, probabilities: list[float]) -> int:
        """Number of labels to write, given their probabilities in descending order."""
        probable = sum(value >= self.min_probability for value in probabilities)
        return max(probable, min(self.at_least, len(probabilities)))


def row_answers(
    first_row: int,
    best: Ranking | RankedProbabilities,
    ids: Sequence[RowId] | None = None,
    threshold: Threshold = Threshold(),
    errors: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[RowAnswer]:
    """Split rankings into rows; missing labels (-1) and those below the threshold are left out.

    ``errors`` says what is wrong with bad rows, by their place among these.

    Examples
    --------
    >>> import numpy as np
    >>> best = Ranking(np.asarray([[1, -1]]), np.asarray([[0.5, 0.0]]))
    >>> next(row_answers(7, best, ["a"]))
    RowAnswer(row=7, id='a', labels=[1], scores=[0.5], probabilities=None, error=None)
    """
    probable = best.probabilities.tolist() if isinstance(best, RankedProbabilities) else None
    for i, (labels, scores) in enumerate(
        zip(best.labels.tolist(), best.scores.tolist(), strict=True)
    ):
        count = sum(label >= 0 for label in labels)  # missing ones come last
        probabilities = None
        if probable is not None:
            count = threshold.count(probable[i][:count])
            probabilities = probable[i][:count]
        row_id = None if ids is None else ids[i]
        if i in errors:
            yield RowAnswer(first_row + i, row_id, [], [], None, errors[i])
            continue
        yield RowAnswer(first_row + i, row_id, labels[:count], scores[:count], probabilities)


_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_TO_QUOTE = re.compile('[",\r\n]')
ESCAPES_HELP = r"""In names, \t, \n, \r
and \\ stand for tab, newline, carriage return and backslash."""

Names = Sequence[str] | None


class Columns(NamedTuple):
    """The optional columns of a table."""

    ids: bool = False
    probabilities: bool = False

    def titles(self) -> list[str]:
        """Names of all columns."""
        return [
            *(["row", "id"] if self.ids else ["row"]),
            *("rank", "label", "score"),
            *(["probability"] if self.probabilities else []),
        ]


class LineFormat(NamedTuple):
    """The text format of a file of predictions."""

    name: str
    """Also the suffix of its files."""
    header: Callable[[Columns], str]
    """First line of a file, or nothing."""
    lines: Callable[[RowAnswer, Names, Columns], str]
    """Text of one row, given the names of all labels."""


def _cells(
    answer: RowAnswer, names: Names, columns: Columns, fit: Callable[[str], str]
) -> Iterator[list[str]]:
    """The cells of a row's lines, one line for each label; `fit` makes names fit a cell."""
    shown = [fit(names[label]) for label in answer.labels] if names else map(str, answer.labels)
    first = [str(answer.row)]
    if columns.ids:
        first.append("" if answer.id is None else fit(str(answer.id)))
    if answer.error is not None:
        yield [*first, "error", fit(answer.error), *([""] * (1 + columns.probabilities))]
    for i, (label, score) in enumerate(zip(shown, answer.scores, strict=True)):
        cells = [*first, str(i + 1), label, f"{score:.6g}"]
        if answer.probabilities is not None:
            cells.append(f"{answer.probabilities[i]:.6g}")
        yield cells


def escape(name: str) -> str:
    r"""Make a name fit one TSV field: backslash escapes for tab, newline, return and backslash.

    Examples
    --------
    >>> print(escape("two\nlines"))
    two\nlines
    """
    return name.translate(_ESCAPES)


def quote(name: str) -> str:
    """Make a name fit one CSV field.

    Examples
    --------
    >>> quote('12" vinyl, black'), quote("plain")
    ('"12"" vinyl, black"', 'plain')
    """
    # The csv module would leave a carriage return bare, which its reader takes for a line end.
    return '"' + name.replace('"', '""') + '"' if _TO_QUOTE.search(name) else name


def _table_format(name: str, separator: str, fit: Callable[[str], str]) -> LineFormat:
    def lines(answer: RowAnswer, names: Names, columns: Columns) -> str:
        return "".join(
            separator.join(cells) + "\n" for cells in _cells(answer, names, columns, fit)
        )

    return LineFormat(name, lambda columns: separator.join(columns.titles()) + "\n", lines)


def _jsonl(answer: RowAnswer, names: Names, columns: Columns) -> str:
    record: dict[str, Any] = {"row": answer.row}
    if columns.ids:
        record["id"] = answer.id
    if answer.error is not None:
        return json.dumps(record | {"error": answer.error}, ensure_ascii=False) + "\n"
    record |= {"labels": answer.labels, "scores": answer.scores}
    if answer.probabilities is not None:
        record["probabilities"] = answer.probabilities
    if names:
        record["names"] = [names[label] for label in answer.labels]
    return json.dumps(record, ensure_ascii=False) + "\n"


FORMATS = {
    "tsv": _table_format("tsv", "\t", escape),
    "csv": _table_format("csv", ",", quote),
    "jsonl": LineFormat("jsonl", lambda _: "", _jsonl),
}


@dataclass(frozen=True)
class LineWriter:
    r"""Turns rankings into lines.

    Parameters
    ----------
    format : LineFormat
    label_names : sequence of str, optional
        Shown instead of ids (tables) or beside them (JSON lines).
    columns : Columns
        The optional columns.
    threshold : Threshold
        Which labels are written.

    Examples
    --------
    >>> import numpy as np
    >>> writer = LineWriter(FORMATS["tsv"], ["red", "green"])
    >>> writer.header
    'row\trank\tlabel\tscore\n'
    >>> writer.lines(7, Ranking(np.asarray([[1, -1]]), np.asarray([[0.5, 0.0]])))
    '7\t1\tgreen\t0.5\n'
    """

    format: LineFormat
    label_names: Names = None
    columns: Columns = Columns()  # noqa: RUF009 - frozen
    threshold: Threshold = Threshold()

    @property
    def header(self) -> str:
        """First line of a file, or nothing."""
        return self.format.header(self.columns)

    def identity(self) -> dict[str, Any]:
        """What makes two writers give the same lines, in JSON's types."""
        names = None if self.label_names is None else list(self.label_names)
        digest = hashlib.sha256(json.dumps(names).encode()).hexdigest()
        return {
            "format": self.format.name,
            "label_names": digest,
            "columns": list(self.columns),
            "threshold": asdict(self.threshold),
        }

    def lines(
        self,
        first_row: int,
        best: Ranking | RankedProbabilities,
        ids: Sequence[RowId] | None = None,
        errors: Mapping[int, str] = MappingProxyType({}),
    ) -> str:
        """Text of consecutive rows; missing labels (-1) are left out."""
        return "".join(
            self.format.lines(answer, self.label_names, self.columns)
            for answer in row_answers(first_row, best, ids, self.threshold, errors)
        )


PARQUET = "parquet"
FORMAT_NAMES = (*FORMATS, PARQUET)
_PLAIN = {"": "tsv", "txt": "tsv", "ndjson": "jsonl", **{name: name for name in FORMAT_NAMES}}
_COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    # No time in the header: the same data gives the same file.
    "gz": lambda text: gzip.compress(text, mtime=0),
    "xz": lzma.compress,
}


class OutputFormat(NamedTuple):
    """How predictions are written."""

    name: str
    """One of `FORMAT_NAMES`."""
    compression: str = ""
    """``gz``, ``xz`` or nothing."""


def encode_lines(text: str, compression: str) -> bytes:
    """Bytes of some lines. Compressed, they stand alone: such files may be joined or cut."""
    plain = text.encode()
    return _COMPRESSED[compression](plain) if compression else plain


def choose_format(output: PathLike | None, wanted: str | None = None) -> OutputFormat:
    """The format that is asked for, else the one of the output's suffix, else TSV.

    Examples
    --------
    >>> choose_format("labels.jsonl").name, choose_format("labels.csv.gz", "tsv")
    ('jsonl', OutputFormat(name='tsv', compression='gz'))
    >>> choose_format("labels.xls")
    Traceback (most recent call last):
    ValueError: labels.xls: .xls is not a known format; name it .tsv, .csv, .jsonl or ...
    """
    stem, suffix = _split("" if output is None else os.path.basename(output))
    compression = ""
    if suffix in _COMPRESSED:
        compression, (_, suffix) = suffix, _split(stem)
    if wanted is None and suffix not in _PLAIN:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise ValueError(
            f"{output}: .{suffix} is not a known format; name it {known} or .{PARQUET}, "
            f"or give --format; .gz and .xz may follow"
        )
    name = wanted or _PLAIN[suffix]
    if name == PARQUET and (compression or output is None):
        why = "is compressed already" if compression else "needs a file: name it with -o"
        raise ValueError(f"Parquet {why}")
    return OutputFormat(name, compression)


def _split(name: str) -> tuple[str, str]:
    stem, suffix = os.path.splitext(name)
    return stem, suffix.removeprefix(".").lower()
