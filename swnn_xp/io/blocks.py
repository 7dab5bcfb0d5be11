"""Read a file block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from swnn_xp.io.assemble import Assembler
from swnn_xp.io.errors import PathLike
from swnn_xp.io.grammar import Rules
from swnn_xp.io.opening import Engine, Table, check_end, open_table
from swnn_xp.io.place import Place
from swnn_xp.io.reading import limit_of


class XMCBlock(NamedTuple):
    """Consecutive rows of a file."""

    X: csr_array
    Y: csr_array
    first_row: int
    """Number of the block's first row in the file, from 0."""
    end: Place
    """Where the next block begins."""


def iter_xmc(
    path: PathLike,
    rows: int = 4096,
    *,
    resume: Place | None = None,
    strict: bool = False,
    dtype: npt.DTypeLike = np.float32,
    engine: Engine = "auto",
) -> Iterator[XMCBlock]:
    r"""Read a repository file in blocks of `rows` rows, in memory for one block.

    The blocks put together are what `read_xmc` gives, and the same files are refused; the block
    before the trouble has been handed out by then.

    Parameters
    ----------
    path : str or path
        Plain, gzip or xz, with a header.
    rows : int, default 4096
        Rows of a block; the last has what is left.
    resume : Place, optional
        ``end`` of an earlier block: go on after it. A compressed file is decompressed again up to
        there.
    strict, dtype, engine
        As for `read_xmc`.

    Yields
    ------
    XMCBlock

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "test.txt")
    >>> _ = path.write_text("3 4 3\n0,2 1:0.5 3:1\n 0:2\n1 2:1\n")
    >>> first = next(iter_xmc(path, rows=2))
    >>> first.X.shape, first.end
    ((2, 4), Place(row=2, line=3, offset=25))
    >>> [block.first_row for block in iter_xmc(path, rows=2, resume=first.end)]
    [2]
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, not {rows}")
    rules = Rules(strict=strict, limit=limit_of(dtype))
    with open_table(path, rules, header=True, engine=engine, resume=resume) as table:
        while (block := _next_block(table, rows, dtype)) is not None:
            yield block
        check_end(table)


def _next_block(table: Table, rows: int, dtype: npt.DTypeLike) -> XMCBlock | None:
    first = table.reader.place.row
    assembler = Assembler(dtype)
    while wanted := table.wanted(first + rows - table.reader.place.row):
        piece = table.reader.take(wanted)
        if not len(piece.label_counts):
            break
        assembler.add(piece)
    if table.reader.place.row == first:
        return None
    matrices = assembler.finish(table.rules.n_features, table.rules.n_labels)
    return XMCBlock(*matrices, first, table.reader.place)
