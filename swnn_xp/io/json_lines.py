"""Read JSON lines: one object per line, block by block."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from typing import Any, NamedTuple

from swnn_xp.io.files import BOM, FormatError, PathLike, Position, can_rewind, open_input

_CHUNK = 1 << 18


class JsonRecord(NamedTuple):
    """One object and the number of its line, from 1."""

    line: int
    fields: dict[str, Any]


class JsonBlock(NamedTuple):
    """Consecutive objects of a file."""

    records: list[JsonRecord]
    first_row: int
    """Number of the block's first object in the file, from 0."""
    end: Position
    """Where the next block begins."""


def iter_json_lines(
    path: PathLike, rows: int = 4096, *, resume: Position | None = None
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

    Yields
    ------
    JsonBlock

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "new.jsonl")
    >>> _ = path.write_text('{"id": "a"}\n\n{"id": "b"}\n')
    >>> next(iter_json_lines(path)).records[1]
    JsonRecord(line=3, fields={'id': 'b'})
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, not {rows}")
    live = not can_rewind(path)
    position = resume or Position(0, 0, 0)
    records: list[JsonRecord] = []
    with open_input(path) as stream:
        if resume is not None:
            stream.seek(resume.offset)
        for lines in _arriving(stream):
            for line in lines:
                position = position._replace(
                    line=position.line + 1, offset=position.offset + len(line)
                )
                record = _parse(path, position.line, line)
                if record is not None:
                    records.append(record)
                if len(records) == rows:
                    yield (block := _block(records, position))
                    position, records = block.end, []
            if live and records:
                yield (block := _block(records, position))
                position, records = block.end, []
    if records:
        yield _block(records, position)


def _block(records: list[JsonRecord], position: Position) -> JsonBlock:
    end = position._replace(row=position.row + len(records))
    return JsonBlock(records, position.row, end)


def _arriving(stream: BufferedIOBase) -> Iterator[list[bytes]]:
    """Whole lines, as many as come at once; the last of all may lack its end."""
    rest = b""
    while chunk := stream.read1(_CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield [line + b"\n" for line in lines]
    if rest:
        yield [rest]


def _parse(path: PathLike, number: int, line: bytes) -> JsonRecord | None:
    text = line.removeprefix(BOM) if number == 1 else line
    if not text.strip():
        return None
    return JsonRecord(number, parse_object(path, number, text, parse_constant=_refuse))


def parse_object(
    path: PathLike,
    number: int,
    text: str | bytes,
    parse_constant: Callable[[str], Any] | None = None,
) -> dict[str, Any]:
    """Parse line `number` of a file; errors name both."""
    try:
        fields = json.loads(text, parse_constant=parse_constant)
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
