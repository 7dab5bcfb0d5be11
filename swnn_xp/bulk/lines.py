"""Predictions as text: the one writer of TSV and JSON lines."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from swnn_xp.results import Ranking

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
ESCAPES_HELP = r"""In names, \t, \n, \r
and \\ stand for tab, newline, carriage return and backslash."""
_COMPRESSED = ("gz", "xz")  # an output grows and is cut when it is resumed: compressed ones can't

Names = Sequence[str] | None


class LineFormat(NamedTuple):
    """How predictions look in a file."""

    name: str
    """Also the suffix of its files."""
    header: str
    """First line of a file, or nothing."""
    lines: Callable[[int, list[int], list[float], Names], str]
    """Text of one row, from its number, labels, scores and the names of all labels."""


def _tsv(row: int, labels: list[int], scores: list[float], names: Names) -> str:
    shown = (escape(names[label]) for label in labels) if names else labels
    ranked = enumerate(zip(shown, scores, strict=True), 1)
    return "".join(f"{row}\t{rank}\t{label}\t{score:.6g}\n" for rank, (label, score) in ranked)


def _jsonl(row: int, labels: list[int], scores: list[float], names: Names) -> str:
    record: dict[str, Any] = {"row": row, "labels": labels, "scores": scores}
    if names:
        record["names"] = [names[label] for label in labels]
    return json.dumps(record, ensure_ascii=False) + "\n"


FORMATS = {
    "tsv": LineFormat("tsv", "row\trank\tlabel\tscore\n", _tsv),
    "jsonl": LineFormat("jsonl", "", _jsonl),
}


def escape(name: str) -> str:
    r"""Make a name fit one TSV field: backslash escapes for tab, newline, return and backslash.

    Examples
    --------
    >>> print(escape("two\nlines"))
    two\nlines
    """
    return name.translate(_ESCAPES)


def choose_format(output: str | os.PathLike[str] | None, wanted: str | None = None) -> LineFormat:
    """The format that is asked for, else the one of the output's suffix, else TSV.

    Examples
    --------
    >>> choose_format("labels.jsonl").name, choose_format("labels.jsonl", "tsv").name
    ('jsonl', 'tsv')
    """
    suffix = os.path.splitext(output)[1].removeprefix(".") if output is not None else ""
    if suffix in _COMPRESSED:
        raise ValueError(f"{output}: predictions are written as plain text, not as .{suffix}")
    return FORMATS[wanted or (suffix if suffix in FORMATS else "tsv")]


@dataclass(frozen=True)
class LineWriter:
    r"""Turns rankings into lines.

    Parameters
    ----------
    format : LineFormat
    label_names : sequence of str, optional
        Shown instead of ids (TSV) or beside them (JSON lines).

    Examples
    --------
    >>> import numpy as np
    >>> writer = LineWriter(FORMATS["tsv"], ["red", "green"])
    >>> writer.lines(7, Ranking(np.asarray([[1, -1]]), np.asarray([[0.5, 0.0]])))
    '7\t1\tgreen\t0.5\n'
    """

    format: LineFormat
    label_names: Names = None

    def identity(self) -> dict[str, str]:
        """What makes two writers give the same lines, in JSON's types."""
        names = None if self.label_names is None else list(self.label_names)
        digest = hashlib.sha256(json.dumps(names).encode()).hexdigest()
        return {"format": self.format.name, "label_names": digest}

    def lines(self, first_row: int, best: Ranking) -> str:
        """Text of consecutive rows; missing labels (-1) are left out."""
        return "".join(
            self.format.lines(row, labels, scores, self.label_names)
            for row, labels, scores in _found(first_row, best)
        )


def _found(first_row: int, best: Ranking) -> Iterator[tuple[int, list[int], list[float]]]:
    ranked = zip(best.labels.tolist(), best.scores.tolist(), strict=True)
    for row, (labels, scores) in enumerate(ranked, first_row):
        count = sum(label >= 0 for label in labels)  # missing ones come last
        yield row, labels[:count], scores[:count]
