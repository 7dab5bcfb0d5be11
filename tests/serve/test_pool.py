"""The pool of threads outlives the event loop that used it."""

import asyncio
import contextlib
import threading

import pytest

pytest.importorskip("msgspec")
from swnn_xp.serve.pool import Pool


@pytest.mark.parametrize("threads", [1, 2])
def test_close_forgets_jobs_whose_event_loop_is_gone(threads):
    pool, release = Pool(threads, 0, seconds=60), threading.Event()

    async def abandon():
        job = asyncio.ensure_future(pool.run(release.wait, short=False))
        await asyncio.sleep(0.05)
        job.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await job

    for _ in range(threads):
        asyncio.run(abandon())
    release.set()
    pool.close()
    assert pool.under_way == 0
    assert asyncio.run(pool.run(lambda: "an answer", short=False)) == "an answer"
    pool.close()


def test_a_job_that_ends_after_close_is_not_counted_twice():
    pool = Pool(1, 0, seconds=60)

    async def main():
        job = asyncio.ensure_future(pool.run(lambda: 1, short=False))
        await asyncio.sleep(0)
        pool.close()
        assert await job == 1
        return pool.under_way

    assert asyncio.run(main()) == 0
