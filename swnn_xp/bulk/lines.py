"""Predictions as text: the one writer of TSV, CSV and JSON lines."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from swnn_xp.bulk.answers import RowAnswer, Threshold, row_answers
from swnn_xp.bulk.sources import RowId
from swnn_xp.results import RankedProbabilities, Ranking

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_TO_QUOTE = re.compile('[",\r\n]')
ESCAPES_HELP = r"""In names, \t, \n, \r
and \\ stand for tab, newline, carriage return and backslash."""

Names = Sequence[str] | None


class Columns(NamedTuple):
    """Which of the optional columns a table has."""

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
    """How predictions look in a file."""

    name: str
    """Also the suffix of its files."""
    header: Callable[[Columns], str]
    """First line of a file, or nothing."""
    lines: Callable[[RowAnswer, Names, Columns], str]
    """Text of one row, given the names of all labels."""


def _cells(
    answer: RowAnswer, names: Names, columns: Columns, fit: Callable[[str], str]
) -> Iterator[list[str]]:
    """The cells of one row's table, a list for each label; `fit` makes names fit a cell."""
    shown = [fit(names[label]) for label in answer.labels] if names else map(str, answer.labels)
    first = [str(answer.row)]
    if columns.ids:
        first.append("" if answer.id is None else fit(str(answer.id)))
    for i, (label, score) in enumerate(zip(shown, answer.scores, strict=True)):
        likely = [] if answer.probabilities is None else [f"{answer.probabilities[i]:.6g}"]
        yield [*first, str(i + 1), label, f"{score:.6g}", *likely]


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
        The optional columns of the rankings that will come.
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
    threshold: Threshold = Threshold()  # noqa: RUF009 - frozen

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
    ) -> str:
        """Text of consecutive rows; missing labels (-1) are left out."""
        return "".join(
            self.format.lines(answer, self.label_names, self.columns)
            for answer in row_answers(first_row, best, ids, self.threshold)
        )
