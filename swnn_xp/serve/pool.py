"""A few threads and a bounded queue before them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from swnn_xp.serve.refusal import Refusal

_Result = TypeVar("_Result")


class Pool:
    """Runs jobs on threads; refuses them when too many wait."""

    def __init__(self, threads: int, queue: int, seconds: float) -> None:
        self.threads, self.room = threads, threads + queue
        self._seconds = seconds
        # A place is free again when the job has really ended, in whatever thread that is.
        self._places = threading.Semaphore(self.room)
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="swnn")
        self.under_way: set[Future[Any]] = set()

    async def run(self, job: Callable[[bytes, float], _Result], body: bytes) -> _Result:
        """Run ``job(body, deadline)``: 503 when there is no place, 504 when it takes too long."""
        if not self._places.acquire(blocking=False):
            raise Refusal(503, "too many requests are waiting", {"Retry-After": "1"})
        future = self._executor.submit(job, body, time.monotonic() + self._seconds)
        self.under_way.add(future)
        future.add_done_callback(self._ended)
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise Refusal(504, f"no answer within {self._seconds:g} seconds") from None

    def _ended(self, future: Future[Any]) -> None:
        self.under_way.discard(future)
        self._places.release()

    def close(self) -> None:
        """Finish what is running and end the threads."""
        self._executor.shutdown(wait=True)
