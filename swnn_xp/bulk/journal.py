"""An output file that an interrupted run leaves in a state to resume from.

The output grows in ``OUT.partial``. Beside it, ``OUT.journal`` has one line that identifies the job
and one for each block that was written completely: where it ends in the input and in the output. A
new run of the same job cuts off an incomplete block and continues after the last complete one. At
the end the output is renamed in one step and the journal removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from swnn_xp.io.files import Position, final_target, naming, sync
from swnn_xp.store.files import sync_folder
from swnn_xp.store.manifest import FILE


def model_digest(path: str | os.PathLike[str]) -> str:
    """Digest of a model's manifest, which holds the checksums of all its other files."""
    return hashlib.sha256((Path(path) / FILE).read_bytes()).hexdigest()


class Mark(NamedTuple):
    """The end of a block in the input: which file, how far into it, and the rows before it."""

    file: int = 0
    rows_before: int = 0
    """Rows of the files before this one."""
    position: Position | None = None
    """None at the start of the file."""

    @property
    def row(self) -> int:
        """Rows up to here, over all files."""
        return self.rows_before + (self.position.row if self.position else 0)


class _Complete(NamedTuple):
    mark: Mark
    size: int
    """Bytes of the partial output up to the mark; 0 to start over."""


_NOTHING = _Complete(Mark(), 0)


class ResumableOutput:
    """The partial output and its journal, open for one run at a time.

    Parameters
    ----------
    output : path
        Replaced by `finish`; a link stays and its target is replaced.
    job : mapping
        What identifies the job, in JSON's types. Entering the context with the journal of another
        job is refused.
    header : bytes
        First line of the output.
    """

    def __init__(self, output: Path, job: Mapping[str, Any], header: bytes = b"") -> None:
        self._output, self._target = output, Path(final_target(output))
        self._partial = self._target.with_name(f"{self._target.name}.partial")
        self._journal = self._target.with_name(f"{self._target.name}.journal")
        self._job, self._header = dict(job), header
        self.start = Mark()
        """Where this run begins in the input."""

    def __enter__(self) -> Self:
        with naming(self._output), contextlib.ExitStack() as opened:
            self._log: BinaryIO = opened.enter_context(self._journal.open("ab"))
            self._lock()
            complete = self._last_complete()
            partial = self._partial
            self._out: BinaryIO = partial.open("r+b") if complete.size else partial.open("wb")
            opened.enter_context(self._out)
            sync_folder(self._target.parent)  # a power cut must not take the names of both
            self.start = complete.mark
            if complete.size:
                self._out.truncate(complete.size)
                self._out.seek(complete.size)
            else:
                self._log.truncate(0)
                _append(self._log, _line(self._job))
                self.append(self._header, self.start)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def append(self, text: bytes, end: Mark) -> None:
        """Write a block; when this returns, it survives a crash."""
        position = list(end.position) if end.position else None
        with naming(self._output):
            _append(self._out, text)
            record = {"mark": [end.file, end.rows_before, position], "size": self._out.tell()}
            _append(self._log, _line(record))

    def finish(self) -> None:
        """Give the output its name and remove the journal."""
        self._partial.replace(self._target)
        sync_folder(self._target.parent)
        self._journal.unlink()

    def discard(self) -> None:
        """Remove what was written: there is nothing to resume."""
        self._partial.unlink(missing_ok=True)
        self._journal.unlink(missing_ok=True)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{self._target}: another run is writing it") from None

    def _last_complete(self) -> _Complete:
        """The last complete block of an earlier run of this job, if there is one."""
        entries = self._entries()
        if len(entries) < 2 or not self._partial.is_file():
            return _NOTHING
        if entries[0] != self._job:
            raise ValueError(
                f"{self._journal} belongs to another job; "
                f"to start over, remove it and {self._partial.name}"
            )
        try:
            (file, rows_before, position), size = entries[-1]["mark"], int(entries[-1]["size"])
            mark = Mark(file, rows_before, Position(*position) if position else None)
        except (KeyError, TypeError, ValueError):
            raise self._damaged(len(entries)) from None
        if self._partial.stat().st_size < size:
            return _NOTHING
        return _Complete(mark, size)

    def _entries(self) -> list[Any]:
        text = self._journal.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]  # the last line may be cut off
        self._log.truncate(len(whole))  # and must not become the start of the next one
        entries = []
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entries.append(json.loads(line))
            except ValueError:
                raise self._damaged(number) from None
        return entries

    def _damaged(self, line: int) -> ValueError:
        return ValueError(
            f"{self._journal}: line {line} is damaged; "
            f"to start over, remove it and {self._partial.name}"
        )


def _append(file: BinaryIO, text: bytes) -> None:
    file.write(text)
    sync(file)


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"
