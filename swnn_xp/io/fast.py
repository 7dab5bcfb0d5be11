"""The fast reader: a compiled parser over a buffer of bounded size."""

from __future__ import annotations

from io import BufferedIOBase, BufferedReader

import numpy as np

from swnn_kernels.parse import ParseRules, parse_rows, powers_of_five, room_for_rows
from swnn_kernels.records import ParsedRows
from swnn_xp.io.files import DAMAGE, PathLike, Position
from swnn_xp.io.grammar import Rules, row_at, rows_to_arrays

_CHUNK = 1 << 22
_ROWS = 1 << 15
_POWERS = powers_of_five()


class FastRows:
    """Reads what `PythonRows` reads, but faster.

    Whole lines of a chunk go to the compiled parser. A line that it rejects (an error, or something
    rare) goes to `parse_row`, which alone defines the rules and the messages. A line longer
    than the chunk makes the buffer grow.
    """

    def __init__(
        self, path: PathLike, stream: BufferedIOBase, rules: Rules, position: Position
    ) -> None:
        self.position = position
        self._path = path
        self._stream = stream
        self._rules = rules
        # In the buffer, [begin, whole) are whole lines and [whole, end) is part of one.
        self._begin = self._whole = self._end = 0
        self._at_end = False
        self._damage: Exception | None = None
        self._allocate(_CHUNK)

    def line(self) -> bytes:
        """Read one raw line; empty at the end of the file."""
        while self._begin == self._whole and not self._at_end:
            self._fill()
        # Only the last line of a file may lack its line end.
        end = self._buffer.find(b"\n", self._begin, self._whole) + 1 or self._end
        line = bytes(memoryview(self._buffer)[self._begin : end])
        self._whole = max(self._whole, end)
        self._advance(end, lines=1 if line else 0, rows=0)
        return line

    def take(self, max_rows: int) -> ParsedRows:
        """Read at least one row and at most `max_rows`; none at the end of the file."""
        while True:
            if self._begin == self._whole and not self._at_end:
                self._fill()
                continue
            parsed = self._parse(min(max_rows, _ROWS))
            if len(parsed.label_counts):
                return parsed
            line = self.line()
            if not line:
                return parsed
            row = row_at(self._path, self.position.line, line, self._rules)
            if row is not None:
                self.position = self.position._replace(row=self.position.row + 1)
                return rows_to_arrays([row])

    def _parse(self, max_rows: int) -> ParsedRows:
        rules = self._rules
        rows, begin, n_labels, n_features = parse_rows(
            self._text,
            (self._begin, self._whole),
            max_rows,
            ParseRules(
                bool(rules.strict),
                int(rules.first_feature),
                int(rules.n_features),
                int(rules.n_labels),
                float(rules.limit),
            ),
            _POWERS,
            self._out,
        )
        self._advance(begin, lines=rows, rows=rows)
        out = self._out
        return ParsedRows(
            out.label_counts[:rows],
            out.labels[:n_labels],
            out.feature_counts[:rows],
            out.features[:n_features],
            out.values[:n_features],
        )

    def _advance(self, begin: int, lines: int, rows: int) -> None:
        row, line, offset = self.position
        self.position = Position(row + rows, line + lines, offset + begin - self._begin)
        self._begin = begin

    def _fill(self) -> None:
        """Move the partial line to the front and read on; called when no whole line is left."""
        rest = self._end - self._begin
        if rest == len(self._buffer):
            old = self._buffer
            self._allocate(2 * len(old))
            self._buffer[:rest] = old
        else:
            self._text[:rest] = self._text[self._begin : self._end].copy()
        count = self._read_into(memoryview(self._buffer)[rest:])
        self._at_end = count == 0
        self._begin, self._end = 0, rest + count
        self._whole = self._buffer.rfind(b"\n", rest, self._end) + 1

    def _read_into(self, buffer: memoryview) -> int:
        """Read as much as there is room for, or what a pipe has.

        Damage behind some text is reported once that text is used up, so that a bad line before it
        comes first, as it does for a reader that takes one line at a time.
        """
        if self._damage is not None:
            raise self._damage
        if isinstance(self._stream, BufferedReader):
            if self._stream.seekable():
                return self._stream.readinto(buffer)
            # Of a pipe, what has arrived: its rows must not wait for those that follow.
            data = self._stream.read1(len(buffer))
            buffer[: len(data)] = data
            return len(data)
        count = 0
        try:
            # In the stream's own steps: a larger one would lose its sound part.
            while count < len(buffer) and (ready := self._stream.peek(1)):  # type: ignore[attr-defined]
                step = self._stream.read(min(len(ready), len(buffer) - count))
                buffer[count : count + len(step)] = step
                count += len(step)
        except (OSError, *DAMAGE) as error:
            if not count:
                raise
            self._damage = error
        return count

    def _allocate(self, size: int) -> None:
        self._buffer = bytearray(size)
        self._text = np.frombuffer(self._buffer, np.uint8)
        self._out = room_for_rows(_ROWS, size)
