"""Runs of rows in text files: where each begins, and reading one without the rest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from swnn_xp.io import FormatError, Position, iter_xmc
from swnn_xp.io.errors import PathLike
from swnn_xp.io.grammar import Rules
from swnn_xp.io.opening import open_table
from swnn_xp.io.reading import limit_of
from swnn_xp.io.streams import open_input


@dataclass(frozen=True)
class ParsedRows:
    """Consecutive rows of a file, and what the file looked like."""

    path: str
    position: Position
    """Before the first row."""
    n_rows: int
    last: bool
    """Whether the file ends here."""
    size: int
    modified: int

    def __str__(self) -> str:
        first = self.position.row
        return f"{self.path} (rows {first} to {first + self.n_rows - 1})"


class Shape(NamedTuple):
    """What the header of a file says."""

    n_rows: int
    n_features: int
    n_labels: int
    position: Position
    """Before the first row."""


def as_paths(files: PathLike | Sequence[PathLike]) -> list[PathLike]:
    """Take one path as a list of one."""
    return [files] if isinstance(files, str | os.PathLike) else list(files)


def read_shape(path: str | os.PathLike[str]) -> Shape:
    """Read the header of a file."""
    rules = Rules(strict=False, limit=limit_of(np.float32))
    with open_table(path, rules, header=True, engine="python") as table:
        widths = table.rules.n_features or 0, table.rules.n_labels or 0
        return Shape(table.n_rows or 0, *widths, table.reader.position)


def cut_file(path: str | os.PathLike[str], n_pieces: int) -> list[ParsedRows]:
    """Cut a file into at most ``n_pieces`` runs of rows, as equal as can be.

    A row is a line, so that lines are counted and not read.
    """
    shape, status = read_shape(path), os.stat(path)
    bounds = even_bounds(shape.n_rows, n_pieces)
    pieces, position = [], shape.position
    with open_input(path) as stream:
        stream.seek(position.offset)
        for start, stop in pairwise(bounds):
            pieces.append(
                ParsedRows(
                    os.fspath(Path(path).absolute()),
                    position,
                    stop - start,
                    stop == shape.n_rows,
                    status.st_size,
                    status.st_mtime_ns,
                )
            )
            lengths = [len(line) for line in islice(stream, stop - start)]
            if len(lengths) < stop - start:
                found = start + len(lengths)
                what = f"the header says {shape.n_rows} rows, the file ends after {found}"
                raise FormatError(path, position.line + len(lengths) + 1, what)
            position = Position(stop, position.line + len(lengths), position.offset + sum(lengths))
    return pieces


def even_bounds(total: int, parts: int) -> list[int]:
    """Bounds of ``parts`` runs of nearly equal size, none of them empty.

    Examples
    --------
    >>> even_bounds(10, 3)
    [0, 3, 6, 10]
    """
    parts = max(1, min(parts, total))
    return [total * i // parts for i in range(parts + 1)]


def read_pieces(pieces: Sequence[ParsedRows], n_features: int, n_labels: int) -> tuple[Any, Any]:
    """Read the rows of some pieces, put under each other, as matrices of the given widths."""
    blocks = [_read_piece(parsed) for parsed in pieces]
    return (
        sp.vstack([_widened(X, n_features) for X, _ in blocks], format="csr"),
        sp.vstack([_widened(Y, n_labels) for _, Y in blocks], format="csr"),
    )


def _read_piece(parsed: ParsedRows) -> tuple[Any, Any]:
    status = os.stat(parsed.path)
    if (status.st_size, status.st_mtime_ns) != (parsed.size, parsed.modified):
        raise ValueError("the file has changed since")
    blocks = iter_xmc(parsed.path, rows=parsed.n_rows, resume=parsed.position)
    block = next(blocks)
    if parsed.last:
        for _ in blocks:  # nothing follows, or reading on says what is wrong
            pass
    return block.X, block.Y


def _widened(matrix: Any, width: int) -> Any:
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], width))
