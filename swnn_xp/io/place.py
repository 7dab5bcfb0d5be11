"""Where a reader stands in a file."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """How far a file has been read; enough to go on from there (see ``iter_xmc``).

    Examples
    --------
    >>> Place(row=2, line=3, offset=40)._replace(row=0)
    Place(row=0, line=3, offset=40)
    """

    row: int
    """Rows read."""
    line: int
    """Lines read, the header among them."""
    offset: int
    """Bytes read, of the text after decompression."""
