"""Rows of a file in arrays: what both readers hand over, and the plain reader."""

from __future__ import annotations

from io import BufferedIOBase
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from swnn_xp.io.errors import FormatError, PathLike
from swnn_xp.io.grammar import LineError, Row, Rules, parse_row
from swnn_xp.io.place import Place


class Piece(NamedTuple):
    """Some consecutive rows; the arrays may be overwritten by the next ``take``."""

    label_counts: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int32]
    feature_counts: npt.NDArray[np.int64]
    features: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]


class RowReader(Protocol):
    """Reads rows, then whatever lines follow."""

    place: Place

    def take(self, max_rows: int) -> Piece:
        """Read at least one row and at most `max_rows`; none at the end of the file."""

    def line(self) -> bytes:
        """Read one raw line; empty at the end of the file."""


def piece_of(rows: list[Row]) -> Piece:
    """Put parsed rows into arrays.

    Examples
    --------
    >>> piece_of([Row([1], [2, 4], [0.5, 1.0])]).features
    array([2, 4], dtype=int32)
    """
    return Piece(
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

    def __init__(self, path: PathLike, stream: BufferedIOBase, rules: Rules, place: Place) -> None:
        self.place = place
        self._path = path
        self._stream = stream
        self._rules = rules

    def line(self) -> bytes:
        """Read one raw line; empty at the end of the file."""
        line = self._stream.readline()
        if line:
            row, number, offset = self.place
            self.place = Place(row, number + 1, offset + len(line))
        return line

    def take(self, max_rows: int) -> Piece:
        """Read up to `max_rows` rows; fewer only at the end of the file."""
        rows: list[Row] = []
        while len(rows) < max_rows and (line := self.line()):
            row = row_at(self._path, self.place.line, line, self._rules)
            if row is not None:
                rows.append(row)
        self.place = self.place._replace(row=self.place.row + len(rows))
        return piece_of(rows)
