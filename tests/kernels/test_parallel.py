"""Work on several threads, also where threads can't be had."""

import _thread
import threading
import time

import pytest

from swnn_kernels import parallel


def no_thread(*_):
    """A thread that dies before its first instruction, as it does without memory."""
    return 0


def refused(*_):
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("n_jobs", [1, 2, 5, 50])
def test_results_come_in_order(n_jobs):
    def work(n):
        time.sleep(0.001 * (n % 3))
        return n * n

    assert list(parallel.in_order(work, range(20), n_jobs)) == [n * n for n in range(20)]


def test_threads_share_the_work():
    meet = threading.Barrier(3, timeout=60)
    assert list(parallel.in_order(lambda _: meet.wait() >= 0, range(3), 3)) == [True] * 3


@pytest.mark.parametrize("start", [no_thread, refused])
def test_the_caller_does_what_no_thread_does(monkeypatch, start):
    monkeypatch.setattr(_thread, "start_new_thread", start)
    assert list(parallel.in_order(str, range(5), 4)) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_after_an_error_nothing_is_begun(n_jobs):
    begun = []

    def work(n):
        begun.append(n)
        if n == 4:
            raise ValueError("item 4")
        time.sleep(0.001)

    with pytest.raises(ValueError, match="item 4"):
        list(parallel.in_order(work, range(1_000), n_jobs))
    assert len(begun) < 50


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_who_stops_listening_stops_the_work(n_jobs):
    begun, ended = [], []

    def work(n):
        begun.append(n)
        time.sleep(0.001)
        ended.append(n)

    results = parallel.in_order(work, range(1_000), n_jobs)
    next(results)
    results.close()
    assert sorted(begun) == sorted(ended)
    assert len(begun) < 50


def test_no_items():
    assert list(parallel.in_order(str, [], 2)) == []
