"""Ids of rows from a file with one name per line, read along with the rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from swnn_xp.io.errors import PathLike
from swnn_xp.io.names import iter_names


class RowMap:
    """Names of consecutive rows; only those of the present rows are in memory.

    Parameters
    ----------
    path : path
        One name per line.
    start : int
        Rows whose names are skipped.
    """

    def __init__(self, path: PathLike, start: int = 0) -> None:
        self._path = path
        self._names: Iterator[str] = islice(iter_names(path), start, None)

    def take(self, count: int) -> list[str]:
        """Names of the next rows."""
        names = list(islice(self._names, count))
        if len(names) < count:
            raise ValueError(f"{self._path}: has fewer names than there are rows")
        return names

    def check_end(self) -> None:
        """After the last row: no name is left."""
        if next(self._names, None) is not None:
            raise ValueError(f"{self._path}: has more names than there are rows")
