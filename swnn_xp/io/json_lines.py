"""Read JSON lines: one object per line, block by block."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from typing import Any, Literal, NamedTuple

from swnn_xp.io.files import BOM, FormatError, PathLike, Position, can_rewind, open_input

_CHUNK = 1 << 18
MAX_LINE = 64 << 20
"""Bytes of a line, at most: objects in memory take some fifteen times as much."""


class JsonRecord(NamedTuple):
    """One object and the number of its line, from 1."""

    line: int
    fields: dict[str, Any]
    offset: int = 0
    """Where the next line begins."""
    error: FormatError | None = None
    """What is wrong with the line, where bad lines do not raise; then there are no fields."""


class JsonBlock(NamedTuple):
    """Consecutive objects of a file."""

    records: list[JsonRecord]
    first_row: int
    """Number of the block's first object in the file, from 0."""
    end: Position
    """Where the next block begins."""


def iter_json_lines(
    path: PathLike,
    rows: int = 4096,
    *,
    resume: Position | None = None,
    bad: Literal["raise", "last", "keep"] = "raise",
) -> Iterator[JsonBlock]:
    r"""Read objects in blocks of `rows`, with one block in memory.

    Parameters
    ----------
    path : str or path
        Plain, gzip or xz; UTF-8. Blank lines are skipped. A pipe is read as it comes: a block ends
        where no further line is there.
    rows : int, default 4096
        Objects of a block, at most; the last block of a file has the rest.
    resume : Position, optional
        ``end`` of an earlier block: continue after it.
    bad : {"raise", "last", "keep"}
        A line that holds no object, or more than `MAX_LINE` bytes, raises FormatError, is the last
        record, or is a record like others; then it has an ``error``.

    Yields
    ------
    JsonBlock

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "new.jsonl")
    >>> _ = path.write_text('{"id": "a"}\n\n{"id": "b"}\n')
    >>> next(iter_json_lines(path)).records[1]
    JsonRecord(line=3, fields={'id': 'b'}, offset=25, error=None)
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, not {rows}")
    live = not can_rewind(path)
    position = resume or Position(0, 0, 0)
    records: list[JsonRecord] = []
    with open_input(path) as stream:
        if resume is not None:
            stream.seek(resume.offset)
        for lines in _arriving(stream, endless=bad == "keep"):
            for text, size in lines:
                position = position._replace(line=position.line + 1, offset=position.offset + size)
                record = _record(path, position, text, size)
                if record is None:
                    continue
                if record.error is not None and bad == "raise":
                    raise record.error
                records.append(record)
                is_last = record.error is not None and bad == "last"
                if is_last or len(records) == rows:
                    yield (block := _block(records, position))
                    position, records = block.end, []
                if is_last:
                    return
            if live and records:
                yield (block := _block(records, position))
                position, records = block.end, []
    if records:
        yield _block(records, position)


def _block(records: list[JsonRecord], position: Position) -> JsonBlock:
    end = position._replace(row=position.row + len(records))
    return JsonBlock(records, position.row, end)


def _arriving(stream: BufferedIOBase, *, endless: bool) -> Iterator[list[tuple[bytes, int]]]:
    """Whole lines with their sizes, as many as come at once; the last of all may lack its end.

    Of a line longer than `MAX_LINE` nothing but its size is kept; unless ``endless``, it ends the
    lines as soon as it is too long.
    """
    begun: list[bytes] = []  # of a line that goes on
    size = 0
    while chunk := stream.read1(_CHUNK):
        *whole, rest = chunk.split(b"\n")
        lines = []
        for piece in whole:
            size += len(piece) + 1
            begun.append(piece)
            lines.append((b"".join(begun) if size <= MAX_LINE else b"", size))
            begun, size = [], 0
        size += len(rest)
        begun.append(rest)
        if size > MAX_LINE:
            begun = []
            if not endless:
                yield [*lines, (b"", size)]
                return
        if lines:
            yield lines
    if size:
        yield [(b"".join(begun), size)]


def _record(path: PathLike, end: Position, text: bytes, size: int) -> JsonRecord | None:
    """The record of a line that ends there; None if the line is blank."""
    number = end.line
    if size > MAX_LINE:
        error = FormatError(path, number, f"the line is longer than {MAX_LINE >> 20} MiB")
        return JsonRecord(number, {}, end.offset, error)
    text = text.removeprefix(BOM) if number == 1 else text
    if not text.strip():
        return None
    try:
        fields = parse_object(path, number, text, parse_constant=_refuse)
    except FormatError as error:
        return JsonRecord(number, {}, end.offset, error)
    return JsonRecord(number, fields, end.offset)


def parse_object(
    path: PathLike,
    number: int,
    text: str | bytes,
    parse_constant: Callable[[str], Any] | None = None,
) -> dict[str, Any]:
    """Parse line `number` of a file; errors name both."""
    try:
        # Without the end of the line: an error there would be in column 1 of the next.
        fields = json.loads(text.rstrip(), parse_constant=parse_constant)
    except json.JSONDecodeError as error:
        what = f"is not JSON: {error.msg} (column {error.colno})"
        raise FormatError(path, number, what) from None
    except (ValueError, RecursionError) as error:
        raise FormatError(path, number, f"is not JSON: {error}") from None
    if not isinstance(fields, dict):
        shown = text.strip()[:40]
        shown = shown if isinstance(shown, str) else shown.decode("utf-8", "replace")
        raise FormatError(path, number, f"expected a JSON object, not {shown}")
    return fields


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a number of JSON")
