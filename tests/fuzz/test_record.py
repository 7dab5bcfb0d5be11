"""Logs of atheris become a record that grows."""

import pytest
from fuzz.record import added, corpus, figures, summary

LOG = """CPU seconds: 5.0
#2 INITED cov: 73 ft: 73 corp: 1/1b exec/s: 0 rss: 60Mb
#512 NEW cov: 81 ft: 90 corp: 2/3b lim: 4 exec/s: 0 rss: 60Mb
stat::number_of_executed_units: 4100
stat::average_exec_per_sec:     100
CPU seconds: 7.0
"""


def test_a_record_grows():
    run = figures(LOG)
    assert run == {"inputs": 4100, "per_second": 2050, "edges": 81}
    twice = added(added({}, run), run | {"edges": 70})
    assert (twice["inputs"], twice["edges"], twice["per_second"]) == (8200, 70, 2050)
    assert summary({"names": twice}) == (
        "8,200 inputs, none fails: names 8,200 (2,050/s, 70 edges)"
    )


def test_a_run_that_was_cut_short_is_no_run():
    with pytest.raises(ValueError, match="not the log of a whole run"):
        figures(LOG[:80])


def test_the_corpus_has_what_is_small_and_new(tmp_path):
    for at, data in enumerate([b"ab", b"a", b"known", b"x" * 500]):
        (tmp_path / f"{at:040x}").write_bytes(data)
    (tmp_path / "crash-1").write_bytes(b"c")
    assert corpus(tmp_path, [b"known"]) == [b"a", b"ab"]
