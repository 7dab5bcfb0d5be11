"""Slices of text files: where each begins, and how to read one without the rest."""

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
class FileSlice:
    """Consecutive rows of a file, and the file's size and time when it was sliced."""

    path: str
    position: Position
    """Before the first row."""
    n_rows: int
    is_last: bool
    """Whether the file ends here."""
    file_bytes: int
    file_time: int
    """Nanoseconds."""

    def __str__(self) -> str:
        first = self.position.row
        return f"{self.path} (rows {first} to {first + self.n_rows - 1})"


class FileShape(NamedTuple):
    """The header of a file."""

    n_rows: int
    n_features: int
    n_labels: int
    position: Position
    """Before the first row."""


def as_paths(files: PathLike | Sequence[PathLike]) -> list[PathLike]:
    """Accept one path as a list of one."""
    return [files] if isinstance(files, str | os.PathLike) else list(files)


def read_shape(path: PathLike) -> FileShape:
    """Read the header of a file."""
    rules = Rules(strict=False, limit=limit_of(np.float32))
    with open_table(path, rules, header=True, engine="python") as table:
        widths = table.rules.n_features or 0, table.rules.n_labels or 0
        return FileShape(table.n_rows or 0, *widths, table.reader.position)


def slice_file(path: PathLike, n_slices: int) -> list[FileSlice]:
    """Cut a file into at most ``n_slices`` slices of nearly equal numbers of rows.

    A row is a line, so lines are counted and not parsed.
    """
    shape, status = read_shape(path), os.stat(path)
    slices, position = [], shape.position
    with open_input(path) as stream:
        stream.seek(position.offset)
        for start, stop in pairwise(even_bounds(shape.n_rows, n_slices)):
            slices.append(
                FileSlice(
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
    return slices


def even_bounds(total: int, n_runs: int) -> list[int]:
    """Bounds of ``n_runs`` runs of nearly equal size, none of them empty.

    Examples
    --------
    >>> even_bounds(10, 3)
    [0, 3, 6, 10]
    """
    n_runs = max(1, min(n_runs, total))
    return [total * i // n_runs for i in range(n_runs + 1)]


def read_slices(slices: Sequence[FileSlice], n_features: int, n_labels: int) -> tuple[Any, Any]:
    """Read slices, stacked, as matrices of the given widths."""
    matrices = [_read_slice(file_slice) for file_slice in slices]
    return (
        sp.vstack([_widened(X, n_features) for X, _ in matrices], format="csr"),
        sp.vstack([_widened(y, n_labels) for _, y in matrices], format="csr"),
    )


def _read_slice(file_slice: FileSlice) -> tuple[Any, Any]:
    status = os.stat(file_slice.path)
    if (status.st_size, status.st_mtime_ns) != (file_slice.file_bytes, file_slice.file_time):
        raise ValueError("the file has changed since")
    blocks = iter_xmc(file_slice.path, rows=file_slice.n_rows, resume=file_slice.position)
    block = next(blocks)
    if file_slice.is_last:
        for _ in blocks:  # nothing follows, or the reader raises
            pass
    return block.X, block.y


def _widened(matrix: Any, width: int) -> Any:
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], width))
