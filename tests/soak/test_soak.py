"""A few rounds of the soak; `make soak` does thousands."""

import collections
import json

import numpy as np
import pytest
from soak import soak
from soak.cases import KINDS, make
from soak.record import Record
from soak.ways import usable

WAYS = usable()


# One of each kind, the ranked one with changes of each kind; the others take longer or are alike.
ROUNDS = [1, 3, 5, 6, 10]
OTHERS = [pytest.param(number, marks=pytest.mark.full) for number in (0, 2, 4, 7)]


@pytest.mark.parametrize("number", ROUNDS + OTHERS)
def test_all_ways_agree(number):
    counts = collections.Counter()
    soak.run(7, number, WAYS, counts)
    assert counts["sessions"]
    assert counts["numpy"]
    assert counts["blocks and threads"]


def test_rounds_cover_every_kind_change_and_way():
    cases = [make(7, number) for number in range(60)]
    assert {case.kind for case in cases} == set(KINDS)
    changes = {(case.ranked, step.what) for case in cases for step in case.steps}
    both = {(ranked, what) for ranked in (False, True) for what in ("append", "remove", "compact")}
    assert changes >= both | {(False, "compress"), (True, "compress"), (True, "relearn")}
    assert not all(case.exact for case in cases)
    for name, way in WAYS.items():
        assert any(way.fits(case) for case in cases if case.number % way.every == 0), name


def test_a_wrong_bit_is_found_and_the_round_named(tmp_path, capsys):
    def wrong(case, clf, Q):
        sims, ids = clf.kneighbors(Q)
        return {"neighbours": (np.nextafter(sims, 2), ids), "labels": tuple(clf.predict_topk(Q))}

    ways = {"a wrong one": WAYS["numpy"]._replace(answer=wrong)}
    with pytest.raises(SystemExit, match="make soak SEED=7 ROUND=3"):
        soak.repeatable(7, 3, ways, Record(7, tmp_path / "soak.json", "abc"))
    assert "a wrong one: neighbours differ" in capsys.readouterr().err


def test_fractional_exponents_are_compared_to_1e_12():
    case = next(case for n in range(99) if not (case := make(7, n)).exact and not case.ranked)
    sims = np.array([[0.5, 0.25]])
    ids = np.array([[3, 4]])
    mine = {"neighbours": (sims, ids), "labels": (np.array([[1]]), sims[:, :1])}
    assert soak.differing(case, mine, mine | {"neighbours": (sims * (1 + 1e-13), ids)}) is None
    off = mine | {"neighbours": (sims * (1 + 3e-12), ids)}
    assert soak.differing(case, mine, off) == "similarities"
    off = mine | {"labels": (np.array([[1]]), sims[:, :1] + 1e-9)}
    assert soak.differing(case, mine, off) == "scores"


def test_a_run_goes_on_where_the_last_one_stopped(tmp_path):
    file, counts = tmp_path / "soak.json", collections.Counter({"numpy": 400, "sessions": 200})
    for commit, rounds in (("one", 2), ("one", 1), ("two", 3)):
        record = Record(1, file, commit)
        for _ in range(rounds):
            record.add(record.next_round, make(1, record.next_round), counts)
        record.write()
    runs = json.loads(file.read_text())
    assert [(run["commit"], run["first"], run["last"]) for run in runs] == [
        ("one", 0, 2),
        ("two", 3, 5),
    ]
    summary = Record(1, file, "two").summary()
    assert summary.startswith("3,600 answers of 6 models (one to two), no difference: numpy 2,400")
