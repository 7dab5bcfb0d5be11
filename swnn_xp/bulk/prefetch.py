"""Let another thread produce items while the caller works on earlier ones."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator
from typing import Any, TypeVar

_WAITING = 2  # items that may wait between two threads
Item = TypeVar("Item")


def prefetched(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items, which another thread produces ahead of time; its errors are raised here.

    Examples
    --------
    >>> list(prefetched(iter("abc")))
    ['a', 'b', 'c']
    """
    waiting: queue.Queue[tuple[bool, Any]] = queue.Queue(_WAITING)
    stopped = threading.Event()

    def put(entry: tuple[bool, Any]) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put(entry, timeout=0.1)
                return

    def produce() -> None:
        try:
            for item in items:
                put((True, item))
                if stopped.is_set():
                    return
            put((False, None))
        except BaseException as error:
            put((False, error))

    producer = threading.Thread(target=produce, daemon=True)
    producer.start()
    try:
        while (entry := waiting.get())[0]:
            yield entry[1]
        if entry[1] is not None:
            raise entry[1]
    finally:
        stopped.set()
        producer.join()
