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
from swnn_xp.io.opening import Engine, Header, Table, check_end, open_table
from swnn_xp.io.position import Position
from swnn_xp.io.reading import limit_of
from swnn_xp.io.streams import can_rewind


class XMCBlock(NamedTuple):
    """Consecutive rows of a file."""

    X: csr_array
    y: csr_array
    first_row: int
    """Number of the block's first row in the file, from 0."""
    end: Position
    """Where the next block begins."""


def iter_xmc(
    path: PathLike,
    rows: int = 4096,
    *,
    resume: Position | None = None,
    header: Header = True,
    strict: bool = False,
    dtype: npt.DTypeLike = np.float32,
    engine: Engine = "auto",
) -> Iterator[XMCBlock]:
    r"""Read a repository file in blocks of `rows` rows, with one block in memory.

    Together the blocks are what `read_xmc` gives, and the same files are refused, after the blocks
    before the error have been returned.

    Parameters
    ----------
    path : str or path
        Plain, gzip or xz. A pipe is read as it comes: a block ends where no further line is there.
    rows : int, default 4096
        Rows of a block, at most; the last block of a file has the rest.
    resume : Position, optional
        ``end`` of an earlier block: continue after it. A compressed file is decompressed again up
        to there.
    header : bool or "auto", default True
        As for `read_xmc`. Without a header, each block is as wide as its own largest ids require.
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
    ((2, 4), Position(row=2, line=3, offset=25))
    >>> [block.first_row for block in iter_xmc(path, rows=2, resume=first.end)]
    [2]
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, not {rows}")
    rules = Rules(strict=strict, limit=limit_of(dtype))
    with open_table(path, rules, header=header, engine=engine, resume=resume) as table:
        live = not can_rewind(path)
        while (block := _next_block(table, rows, dtype, live)) is not None:
            yield block
        check_end(table)


def _next_block(table: Table, rows: int, dtype: npt.DTypeLike, live: bool) -> XMCBlock | None:
    first = table.reader.position.row
    assembler = Assembler(dtype)
    while wanted := table.wanted(first + rows - table.reader.position.row):
        parsed = table.reader.take(wanted)
        if not len(parsed.label_counts):
            break
        assembler.add(parsed)
        if live:
            break
    if table.reader.position.row == first:
        return None
    widths = (None, None) if table.n_rows is None else table.rules[:2]
    matrices = assembler.finish(*widths)
    return XMCBlock(*matrices, first, table.reader.position)
