"""Work on several threads, one of which is the caller's; values that threads share."""

from __future__ import annotations

import _thread
import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_PATIENCE = 1.0  # seconds until a thread looks for itself: without memory none can be notified


def in_parallel(answer: Callable[[int, int], None], n_queries: int, n_jobs: int) -> None:
    """Call ``answer(first, last)`` on equal parts of the queries, one thread each."""
    n_jobs = min(n_jobs, max(1, n_queries))
    cuts = [n_queries * j // n_jobs for j in range(n_jobs + 1)]
    parts = list(itertools.pairwise(cuts))
    for _ in in_order(lambda part: answer(*part), parts, n_jobs):
        pass


def in_order(
    call: Callable[[Item], Result], items: Sequence[Item], n_jobs: int
) -> Generator[Result, None, None]:
    """Results of ``call`` on all items, in their order, computed by several threads.

    The calling thread works too. A thread that can't start for lack of memory has claimed nothing,
    so the others do all of the work; `concurrent.futures` would wait for it for ever. If ``call``
    raises, or the caller goes no further, no more items are begun, and those under way end first.

    Examples
    --------
    >>> list(in_order(lambda n: n * n, [1, 2, 3], n_jobs=2))
    [1, 4, 9]
    """
    shared = _Shared(call, items)
    with contextlib.suppress(RuntimeError):  # no more threads can start: fewer will do
        for _ in range(min(n_jobs, len(items)) - 1):
            _thread.start_new_thread(shared.help, ())
    try:
        for index in range(len(items)):
            yield shared.result(index)
    finally:
        shared.stop()


class BufferPool:
    """Buffers that threads borrow for a call: making them costs more than a few queries do.

    At most one for each core is kept, and none after an error, which may leave half an answer.

    Examples
    --------
    >>> pool = BufferPool()
    >>> with pool.lend(lambda held: True, lambda: [1]) as held:
    ...     held.append(2)
    >>> with pool.lend(lambda held: True, lambda: [1]) as held:
    ...     print(held)
    [1, 2]
    """

    def __init__(self) -> None:
        self._idle: list[Any] = []

    @contextlib.contextmanager
    def lend(self, fits: Callable[[Any], bool], make: Callable[[], Item]) -> Iterator[Item]:
        """Lend what fits, else something new."""
        held = self._take(fits)
        held = make() if held is None else held
        yield held
        if len(self._idle) < (os.cpu_count() or 1):
            self._idle.append(held)

    def _take(self, fits: Callable[[Any], bool]) -> Any:
        """The buffers used last that fit; others are dropped, for the calls have changed."""
        with contextlib.suppress(IndexError):
            while True:
                if fits(held := self._idle.pop()):
                    return held
        return None


class _Shared(Generic[Item, Result]):
    """Items, how many of them are claimed, and their results."""

    def __init__(self, call: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self._call, self._items = call, items
        self._changed = threading.Condition()
        self._next = self._running = 0
        self._results: dict[int, Result] = {}
        self._error: BaseException | None = None

    def help(self) -> None:
        """Work until no item is left."""
        while self._step():
            pass

    def result(self, index: int) -> Result:
        """The result of an item, which no one has asked for yet."""
        while True:
            with self._changed:
                if self._error is not None:
                    raise self._error
                if index in self._results:
                    return self._results.pop(index)
                if self._next == len(self._items):
                    self._changed.wait(_PATIENCE)
                    continue
            self._step()

    def stop(self) -> None:
        """Begin no further item, and wait for those under way."""
        with self._changed:
            self._next = len(self._items)
            while self._running:
                self._changed.wait(_PATIENCE)

    def _step(self) -> bool:
        """Claim an item and work on it; false if there is none."""
        with self._changed:
            if self._next == len(self._items):
                return False
            index, self._next, self._running = self._next, self._next + 1, self._running + 1
        try:
            self._results[index] = self._call(self._items[index])
        except BaseException as error:
            with self._changed:  # else a claim at the same moment would undo the stop
                self._error, self._next = error, len(self._items)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()
        return True


class once_property(cached_property[Result]):
    """A `cached_property` for which other threads wait: since Python 3.12 each computes its own.

    Values that threads compute apart cost time and memory twice, and may differ in identity.

    Examples
    --------
    >>> class Answer:
    ...     @once_property
    ...     def value(self):
    ...         print("computing")
    ...         return 42
    >>> answer = Answer()
    >>> answer.value + answer.value
    computing
    84
    """

    def __init__(self, function: Callable[[Any], Result]) -> None:
        super().__init__(function)
        self._lock = threading.RLock()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        with self._lock:
            return super().__get__(instance, owner)
