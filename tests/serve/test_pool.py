"""The pool of threads outlives the event loop that used it."""

import asyncio
import contextlib
import gc
import threading
import weakref

import pytest

pytest.importorskip("msgspec")
from swnn_xp.serve.service import Pool


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


class Held:
    """A model, for the pool."""

    def answer(self):
        return "an answer"

    def fail(self):
        raise ValueError("no answer")


@pytest.mark.parametrize("what", ["answer", "fail"])
def test_a_job_is_let_go_at_once(what):
    """Not when the thread gets another one, or the garbage is collected: it holds a model."""
    pool = Pool(1, 0, seconds=60)

    async def main():
        model = Held()
        with contextlib.suppress(ValueError):
            await pool.run(getattr(model, what), short=False)
        kept = weakref.ref(model)
        del model
        await asyncio.sleep(0.2)
        return kept() is None

    gc.disable()
    try:
        assert asyncio.run(main())
    finally:
        gc.enable()
        pool.close()
