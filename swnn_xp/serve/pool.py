"""A few threads with a bounded queue."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from swnn_xp.serve.refusal import HTTPRefusal

_Result = TypeVar("_Result")


class _Job(NamedTuple):
    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    life: int
    """Of the pool, which begins again with every `close`."""


class Pool:
    """Runs jobs for the event loop, ``threads`` in parallel; refuses them when too many wait.

    With one thread, short jobs run in the event loop itself: that saves a change of threads, and
    there is no second thread to keep busy. They are counted and refused like the others. All
    counting happens in the event loop.

    The threads start with the first job that needs one, and again after `close`: an application
    may be stopped and restarted.
    """

    def __init__(self, threads: int, queue: int, seconds: float) -> None:
        self.room = threads + queue
        self.under_way = self._life = 0
        self._seconds = seconds
        self._size, self._inline = threads, threads == 1
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    @property
    def is_inline(self) -> bool:
        """Whether short jobs run in the event loop."""
        return self._inline

    @property
    def is_full(self) -> bool:
        """Whether the next job would be refused."""
        return self.under_way >= self.room

    async def run(self, work: Callable[[], _Result], *, short: bool) -> _Result:
        """Run a job: 503 when too many wait, 504 when it takes too long."""
        if self.is_full:
            raise HTTPRefusal(503, "too many requests are waiting", {"Retry-After": "1"})
        self.under_way += 1
        if not (short and self._inline):
            return await self._in_thread(work)
        life = self._life
        try:
            # Requests that arrived meanwhile reach the check above before this one runs.
            await asyncio.sleep(0)
            return work()
        finally:
            self._leave(life)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        self._start()
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        timer = loop.call_later(self._seconds, self._expire, future)
        self._jobs.put(_Job(work, loop, future, self._life))
        try:
            return await future
        finally:
            timer.cancel()
            del future, work  # an error would hold them, and they the error: a cycle with a model

    def _start(self) -> None:
        while len(self._threads) < self._size:
            self._threads.append(threading.Thread(target=self._work, daemon=True))
            self._threads[-1].start()

    def _expire(self, future: asyncio.Future[Any]) -> None:
        _settle(future, None, HTTPRefusal(504, f"no answer within {self._seconds:g} seconds"))

    def _work(self) -> None:
        while self._next():
            pass

    def _next(self) -> bool:
        """Do a job and keep nothing of it, for it holds a model; False where there is none."""
        job = self._jobs.get()
        if job is None:
            return False
        result, error = None, None
        if not job.future.done():  # it may have timed out while waiting
            try:
                result = job.work()
            except Exception as failure:
                error = failure
        with contextlib.suppress(RuntimeError):  # the event loop may be closed
            job.loop.call_soon_threadsafe(self._ended, job, result, error)
        del job, error
        return True

    def _ended(self, job: _Job, result: Any, error: Exception | None) -> None:
        self._leave(job.life)
        _settle(job.future, result, error)

    def _leave(self, life: int) -> None:
        if life == self._life:  # `close` has forgotten the jobs before
            self.under_way -= 1

    def close(self) -> None:
        """Finish what is running and end the threads."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []
        # The event loop of the last jobs may be closed: no one else would count them out.
        self.under_way = 0
        self._life += 1


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
