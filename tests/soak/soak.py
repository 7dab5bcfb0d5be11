"""Every way to an answer against every other, on random models: python -m soak.soak MINUTES.

A round makes a model, changes it, and makes queries, all from the seed and its number. The numba
backend answers in one batch; every other way must give the same bits (see `soak.ways`). One answer
is one query's whole answer (neighbours with similarities, or labels with scores and perhaps
probabilities) by one way. With exponents other than 0, 1 and 2, where libraries differ in the last
place of `pow`, similarities are compared to 1e-12, scores of votes by as much.

Rounds go on where the last run on record stopped, so the total grows; python -m soak.soak SEED
ROUND repeats one round, and a failure prints that command.
"""

from __future__ import annotations

import collections
import sys
import time
import traceback

import numpy as np
from soak.cases import Case, make, model
from soak.record import Record
from soak.ways import Answers, Way, answers, usable

SEED = 1
UNIT = 2.0**-40  # what votes are rounded to
BETWEEN = 60  # seconds between two writes of the record


def close(case: Case, mine: Answers, its: Answers) -> str | None:
    """What differs by more than `pow` may, or None."""
    sims, ids = mine["neighbours"]
    if not np.allclose(sims, its["neighbours"][0], rtol=1e-12, atol=0):
        return "similarities"
    if case.ranked:  # a vote on the edge of a bin may fall into the next
        return None
    same = (ids == its["neighbours"][1]).all(axis=1)
    scores, others = mine["labels"][1][same], its["labels"][1][same]
    within = UNIT * ids.shape[1]
    return None if np.allclose(scores, others, rtol=1e-12, atol=within) else "scores"


def differing(case: Case, mine: Answers, its: Answers) -> str | None:
    """What differs, or None."""
    if not case.exact:
        return close(case, mine, its)
    for what, answer in mine.items():
        # Some ways know no probabilities, the last array.
        if not all(np.array_equal(a, b) for a, b in zip(answer, its[what], strict=False)):
            return what
    return None


def first_rows(found: Answers, count: int) -> Answers:
    return {what: tuple(array[:count] for array in arrays) for what, arrays in found.items()}


def run(seed: int, number: int, ways: dict[str, Way], counts: collections.Counter[str]) -> Case:
    """One round; an AssertionError says how to repeat it."""
    case = make(seed, number)
    clf = model(case)
    expected = answers(case, clf, case.Q)
    for name, way in ways.items():
        if number % way.every or not way.fits(case):
            continue
        found = way.answer(case, clf, case.Q[: way.most])
        wrong = differing(case, first_rows(expected, way.most), found)
        assert wrong is None, f"{name}: {wrong} differ"
        counts[name] += found["neighbours"][0].shape[0] * len(found)
    return case


def repeatable(seed: int, number: int, ways: dict[str, Way], record: Record) -> None:
    """One round for the record; an error says how to repeat it."""
    counts: collections.Counter[str] = collections.Counter()
    try:
        case = run(seed, number, ways, counts)
    except Exception:
        traceback.print_exc()
        sys.exit(f"repeat it: make soak SEED={seed} ROUND={number}")
    record.add(number, case, counts)


def main() -> None:
    ways, (first, *rest) = usable(), sys.argv[1:]
    if rest:
        case = run(int(first), int(rest[0]), ways, collections.Counter())
        print(f"round {case.number} of seed {first} ({case.kind}): no difference")
        return
    record = Record(SEED)
    started = written = time.monotonic()
    while time.monotonic() - started < 60 * float(first):
        repeatable(SEED, record.next_round, ways, record)
        if time.monotonic() - written > BETWEEN:
            record.write()
            written = time.monotonic()
    record.write()
    print(record.summary())


if __name__ == "__main__":
    main()
