"""How long numba compiles, apart from what the compiled code then does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core.event import TimingListener, install_listener


@contextmanager
def compile_timer() -> Iterator[Callable[[], float]]:
    """Give a function that returns the seconds that were spent on compiling since.

    Examples
    --------
    >>> with compile_timer() as seconds:
    ...     pass
    >>> seconds()
    0.0
    """
    listener = TimingListener()
    with install_listener("numba:compile", listener):
        yield lambda: float(listener.duration) if listener.done else 0.0
