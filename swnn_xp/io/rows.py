"""Parsed rows as arrays, which both readers return, and the plain reader."""

from __future__ import annotations

from io import BufferedIOBase
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from swnn_xp.io.errors import FormatError, PathLike
from swnn_xp.io.grammar import LineError, Row, Rules, parse_row
from swnn_xp.io.position import Position


class ParsedRows(NamedTuple):
    """Consecutive rows; the next ``take`` may overwrite the arrays."""

    label_counts: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int32]
    feature_counts: npt.NDArray[np.int64]
    features: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]


class RowReader(Protocol):
    """Reads rows, then whatever lines follow."""

    position: Position

    def take(self, max_rows: int) -> ParsedRows:
        """Read at least one row and at most `max_rows`; none at the end of the file."""

    def line(self) -> bytes:
        """Read one raw line; empty at the end of the file."""


def rows_to_arrays(rows: list[Row]) -> ParsedRows:
    """Put parsed rows into arrays.

    Examples
    --------
    >>> rows_to_arrays([Row([1], [2, 4], [0.5, 1.0])]).features
    array([2, 4], dtype=int32)
    """
    return ParsedRows(
        np.array([len(row.labels) for row in rows], dtype=np.int64),
        np.array([label for row in rows for label in row.labels], dtype=np.int32),
        np.array([len(row.features) for row in rows], dtype=np.int64),
        np.array([feature for row in rows for feature in row.features], dtype=np.int32),
        np.array([value for row in rows for value in row.values], dtype=np.float64),
    )


def row_at(path: PathLike, number: int, line: bytes, rules: Rules) -> Row | None:
    """Parse line `number` of `path`; errors name both."""
    try:
        return parse_row(line, rules)
    except LineError as error:
        raise FormatError(path, number, str(error)) from None


class PythonRows:
    """The plain reader: a line at a time. Slow, and the oracle of the fast one."""

    def __init__(
        self, path: PathLike, stream: BufferedIOBase, rules: Rules, position: Position
    ) -> None:
        self.position = position
        self._path = path
        self._stream = stream
        self._rules = rules

    def line(self) -> bytes:
        """Read one raw line; empty at the end of the file."""
        line = self._stream.readline()
        if line:
            row, number, offset = self.position
            self.position = Position(row, number + 1, offset + len(line))
        return line

    def take(self, max_rows: int) -> ParsedRows:
        """Read up to `max_rows` rows; fewer only at the end of the file."""
        rows: list[Row] = []
        while len(rows) < max_rows and (line := self.line()):
            row = row_at(self._path, self.position.line, line, self._rules)
            if row is not None:
                rows.append(row)
        self.position = self.position._replace(row=self.position.row + len(rows))
        return rows_to_arrays(rows)
