"""What `make soak-serve` takes for a fault."""

import time

from serve.abuse import STOPPED, Target
from serve.soak import QUESTIONS, K, grown, logged, prepare


def target():
    made = Target("localhost", 0, "token", "reload", [], [], 1000)
    made.seen = time.monotonic()
    return made


def test_a_dropped_connection_is_a_fault():
    service = target()
    service.dropped("honest", ConnectionResetError())
    assert service.faults == ["honest: ConnectionResetError()"]


def test_after_a_stop_it_is_none():
    service = target()
    service.seen -= 2 * STOPPED  # nothing ran for so long
    service.dropped("honest", ConnectionResetError())
    service.dropped("batches", ConnectionResetError())
    assert service.faults == []
    assert service.statuses["after a stop", 0] == 2


def test_errors_in_the_log_are_counted_and_the_first_is_shown():
    one = 'Traceback (most recent call last):\n  File "x"\nRuntimeError: it is closed\n'
    assert logged("INFO: all is well\n") == []
    said = logged("INFO: well\n" + 2 * one)
    assert said[0] == "the service has logged 2 times RuntimeError"
    assert said[1].startswith("Traceback")


def test_growth_of_memory_and_files_is_a_fault():
    even = [{"memory": 10**8, "files": 40, "threads": 3}] * 12
    assert grown(even) == []
    after = {"memory": 10**9, "files": 50, "threads": 3}
    assert grown([*even[:8], *[after] * 4]) == [
        "memory grew from 100.0 to 1000.0 MB",
        "files grew from 40 to 50",
    ]


def test_both_models_have_answers_to_all_questions(tmp_path):
    paths, service = prepare(tmp_path)
    assert len(service.right) == len(paths) == 2
    for answers in service.right:
        assert [len(rows) for rows in answers] == [1] * QUESTIONS
        assert all(0 < len(rows[0]["labels"]) <= K for rows in answers)
    assert service.right[0] != service.right[1]
