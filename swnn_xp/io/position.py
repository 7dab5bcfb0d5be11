"""How far a reader has come in a file."""

from __future__ import annotations

from typing import NamedTuple


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
