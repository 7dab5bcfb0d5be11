"""The error of malformed text files.

How far a reader has come in a file.
"""

from __future__ import annotations

import os
from typing import NamedTuple, TypeAlias

PathLike: TypeAlias = str | os.PathLike[str]


class FormatError(ValueError):
    """A text file violates its format.

    Attributes
    ----------
    path : str
        The file as the caller named it.
    line : int or None
        Line number, from 1; None if there is none (damaged compressed data).
    what : str
        What was found there.

    Examples
    --------
    >>> str(FormatError("train.txt", 3, "'x' is not a number"))
    "train.txt:3: 'x' is not a number"
    """

    def __init__(self, path: PathLike, line: int | None, what: str) -> None:
        self.path = os.fspath(path)
        self.line = line
        self.what = what
        super().__init__(f"{self.path}: {what}" if line is None else f"{self.path}:{line}: {what}")


class Position(NamedTuple):
    """How far a file has been read; enough to resume there (see ``iter_xmc``).

    Examples
    --------
    >>> Position(row=2, line=3, offset=40)._replace(row=0)
    Position(row=0, line=3, offset=40)
    """

    row: int
    """Rows read."""
    line: int
    """Lines read, including the header."""
    offset: int
    """Bytes read, counted after decompression."""
