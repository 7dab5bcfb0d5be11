"""The record of all runs of the soak: docs/data/soak.json, one entry for each commit and seed."""

from __future__ import annotations

import collections
import datetime
import json
from pathlib import Path
from typing import Any

import promises
from soak.cases import Case

FILE = promises.ROOT / "docs" / "data" / "soak.json"


class Record:
    """Runs so far, the last of them under way."""

    def __init__(self, seed: int, file: Path = FILE, commit: str | None = None) -> None:
        self.file = file
        self.runs: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
        self.next_round = max(
            (run["last"] + 1 for run in self.runs if run["seed"] == seed), default=0
        )
        commit = promises.commit() if commit is None else commit
        last = self.runs[-1] if self.runs else {}
        if (last.get("seed"), last.get("commit")) != (seed, commit):
            now = {"seed": seed, "commit": commit, "first": self.next_round, "last": -1}
            self.runs.append(now | {"answers": 0, "ways": {}, "kinds": {}, "fractional": 0})

    def add(self, number: int, case: Case, counts: collections.Counter[str]) -> None:
        """Note a round without a difference."""
        run, answers = self.runs[-1], counts.total()
        run["last"], run["date"] = number, datetime.date.today().isoformat()
        run["answers"] += answers
        for name, count in counts.items():
            run["ways"][name] = run["ways"].get(name, 0) + count
        kind = f"{case.kind}, changed" if changed(case) else case.kind
        run["kinds"][kind] = run["kinds"].get(kind, 0) + answers
        run["fractional"] += 0 if case.exact else answers
        self.next_round = number + 1

    def totals(self, what: str) -> collections.Counter[str]:
        found: collections.Counter[str] = collections.Counter()
        for run in self.runs:
            found.update(run[what])
        return found

    def summary(self) -> str:
        answers = sum(run["answers"] for run in self.runs)
        models = sum(run["last"] + 1 - run["first"] for run in self.runs)
        ways = self.totals("ways").most_common()
        shares = ", ".join(f"{way} {count:,}" for way, count in ways)
        commits = list(dict.fromkeys(run["commit"] for run in self.runs))
        span = commits[0] if len(commits) == 1 else f"{commits[0]} to {commits[-1]}"
        return f"{answers:,} answers of {models:,} models ({span}), no difference: {shares}"

    def write(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.runs, indent=1) + "\n")
        if self.file == FILE:
            promises.keep("soak", self.summary())


def changed(case: Case) -> bool:
    """Whether rows came or went, or were learned from again, after fitting."""
    return any(step.what != "compress" for step in case.steps)
