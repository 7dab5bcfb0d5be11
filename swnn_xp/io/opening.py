"""What comes before the first row (byte-order mark, header), and the choice of the reader."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Literal, NamedTuple, TypeAlias

from swnn_xp.io.errors import FormatError, PathLike
from swnn_xp.io.grammar import LineError, Rules, is_blank, parse_header
from swnn_xp.io.position import Position
from swnn_xp.io.rows import PythonRows, RowReader
from swnn_xp.io.streams import BOM, can_rewind, open_input, unread

Engine: TypeAlias = Literal["auto", "fast", "python"]
Header: TypeAlias = bool | Literal["auto"]

# Bytes on disk below which loading numba and its cache takes longer than plain parsing.
_FAST_FROM = 1 << 18
_FOREIGN = {b"{": "JSON", b"[": "JSON", b"PAR1": "Parquet", b"\xff\xfe": "UTF-16"}


class Table(NamedTuple):
    """An open file whose rows come next."""

    path: PathLike
    reader: RowReader
    rules: Rules
    n_rows: int | None
    """Rows that the header promises."""

    def wanted(self, most: int) -> int:
        """Rows to take next: `most`, or what the header leaves."""
        return most if self.n_rows is None else min(most, self.n_rows - self.reader.position.row)


@contextlib.contextmanager
def open_table(
    path: PathLike,
    rules: Rules,
    *,
    header: Header = "auto",
    engine: Engine = "auto",
    resume: Position | None = None,
) -> Iterator[Table]:
    """Open a file, read its header, and move to its first row or to `resume`."""
    if header not in (True, False, "auto"):
        raise ValueError(f"header must be True, False or 'auto', not {header!r}")
    with open_input(path) as opened:
        stream, line = opened, opened.readline()
        bom = BOM if line.startswith(BOM) else b""
        if bom and rules.strict:
            raise FormatError(path, 1, "strict wants no byte-order mark")
        n_rows, first = None, line[len(bom) :]
        # Only a row can have a colon; a broken header must not pass for one.
        if header is True or (header == "auto" and b":" not in first):
            n_rows, rules = _read_header(path, first, rules)
            position = Position(0, 1, len(line))
        elif rules.strict:
            raise FormatError(path, 1, "strict wants a header: rows, features, labels")
        else:
            _refuse_foreign(path, first)
            position = Position(0, 0, len(bom))
        if resume is not None:
            position = resume
        if can_rewind(path):
            stream.seek(position.offset)
        else:
            stream = unread(line[position.offset :], stream)
        yield Table(path, _reader(path, stream, rules, position, engine), rules, n_rows)


def check_end(table: Table) -> None:
    """After the last row: no row is missing and nothing but blank lines follows."""
    reader = table.reader
    if table.n_rows is None:
        return
    if reader.position.row < table.n_rows:
        what = f"the header says {table.n_rows} rows, the file ends after {reader.position.row}"
        raise FormatError(table.path, reader.position.line + 1, what)
    while line := reader.line():
        if table.rules.strict or not is_blank(line):
            what = f"the header says {table.n_rows} rows, another line follows"
            raise FormatError(table.path, reader.position.line, what)


def _refuse_foreign(path: PathLike, line: bytes) -> None:
    """Name formats that newcomers try; anything else is refused by what the line lacks."""
    for begin, what in _FOREIGN.items():
        if line.lstrip().startswith(begin):
            raise FormatError(path, 1, f"this is {what}, not the repository's text format")


def _read_header(path: PathLike, line: bytes, rules: Rules) -> tuple[int, Rules]:
    _refuse_foreign(path, line)
    try:
        n_rows, n_features, n_labels = parse_header(line, strict=rules.strict)
    except LineError as error:
        raise FormatError(path, 1, str(error)) from None
    return n_rows, rules._replace(n_features=n_features, n_labels=n_labels)


def _reader(
    path: PathLike, stream: BufferedIOBase, rules: Rules, position: Position, engine: Engine
) -> RowReader:
    if engine not in ("auto", "fast", "python"):
        raise ValueError(f"engine must be 'auto', 'fast' or 'python', not {engine!r}")
    is_small = can_rewind(path) and os.path.getsize(path) < _FAST_FROM
    if engine == "python" or (engine == "auto" and is_small):
        return PythonRows(path, stream, rules, position)
    from swnn_xp.io.fast import FastRows  # imports numba

    return FastRows(path, stream, rules, position)
