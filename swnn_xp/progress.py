"""A progress line on stderr, on terminals and in notebooks, for work of over two seconds."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

_QUIET_SECONDS = 2.0
_REDRAW_SECONDS = 0.2


def in_blocks(total: int, step: int, what: str) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of successive blocks and show the progress."""
    progress = ProgressLine(total, what)
    for start in range(0, total, step):
        stop = min(start + step, total)
        yield start, stop
        progress.show(stop)
    progress.close()


@contextlib.contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function of done and total that shows the progress, as library calls take it."""
    bar: ProgressLine | None = None

    def show(done: int, total: int) -> None:
        nonlocal bar
        bar = bar or ProgressLine(total, what)
        bar.show(done)

    yield show
    if bar is not None:
        bar.close()


class ProgressLine:
    """Shows ``done / total`` with a rate and the time left."""

    def __init__(self, total: int, what: str) -> None:
        self._total, self._what = total, what
        self._started = self._drawn = time.monotonic()
        self._visible = False

    def show(self, done: int) -> None:
        """Redraw the line if it is due."""
        now = time.monotonic()
        elapsed = now - self._started
        if elapsed < _QUIET_SECONDS or now - self._drawn < _REDRAW_SECONDS:
            return
        if not _is_shown():
            return
        rate = done / elapsed
        left = (self._total - done) / rate if rate else 0.0
        line = f"{self._what}: {done:,}/{self._total:,}  {rate:,.0f}/s  {left:.0f} s left"
        sys.stderr.write(f"\r\x1b[K{line}" if sys.stderr.isatty() else f"\r{line:<79}")
        sys.stderr.flush()
        self._drawn, self._visible = now, True

    def close(self) -> None:
        """Remove the line."""
        if self._visible:
            sys.stderr.write("\r\x1b[K" if sys.stderr.isatty() else f"\r{'':<79}\r")
            sys.stderr.flush()


class StageProgress(contextlib.AbstractContextManager["StageProgress"]):
    """Shows the progress of work in stages; the line is removed at the end, also by an error."""

    def __init__(self) -> None:
        self._stage = ""
        self._bar: ProgressLine | None = None

    def show(self, stage: str, done: int, total: int) -> None:
        """Show how much of a stage is done."""
        if stage != self._stage or self._bar is None:
            self._close()
            self._stage, self._bar = stage, ProgressLine(total, stage)
        self._bar.show(done)

    def __exit__(self, *error: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _is_shown() -> bool:
    """Whether someone watches: on a terminal, or in a notebook, whose cells redraw lines too."""
    return sys.stderr.isatty() or "ipykernel.iostream" in getattr(
        type(sys.stderr), "__module__", ""
    )


def note(text: str) -> None:
    """Print a note on stderr, if it is a terminal."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr)
