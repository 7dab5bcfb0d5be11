"""Promises whose proof is what another command has written: python scripts/figure_promises.py NAME.

`tests` reads build/test.xml, of pytest; `latency` and `quality` read the figures in docs/data that
the benchmarks have just renewed. Each becomes a row of docs/promises.md.
"""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import promises

DATA = promises.ROOT / "docs" / "data"
REPORT = promises.ROOT / "build" / "test.xml"
RANKER = "swnn_ranker"


def suite(report: Path = REPORT) -> str:
    """How many tests have passed; ValueError if any has not."""
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    total, skipped, failed, errors = (
        sum(int(suite.get(what, 0)) for suite in suites)
        for what in ("tests", "skipped", "failures", "errors")
    )
    if failed or errors:
        raise ValueError(f"{failed} tests have failed, {errors} could not run")
    return f"{total - skipped:,} tests pass, {skipped:,} are left out for lack of what they need"


def latency(folder: Path = DATA) -> str:
    """How many times as fast as the paper's loop a query is, with S = 25 and beta = 1."""
    rows = _rows(folder / "latency.json")
    ratios = {row["dataset"]: row["ratio"] for row in rows if (row["S"], row["beta"]) == (25, 1)}
    each = ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items())
    return (
        f"{min(ratios.values()):.1f} to {max(ratios.values()):.1f} times the speed of that loop "
        f"(S = 25, β = 1): {each}"
    )


def quality(folder: Path = DATA) -> str:
    """P@1 and P@5 of a ranker, and of the best other model, on each data set."""
    done = [row for row in _rows(folder / "quality.json") if "failed" not in row]
    sets = dict.fromkeys(row["dataset"] for row in done if row["peer"] == RANKER)
    return "P@1 and P@5, ours against the best other: " + "; ".join(
        f"{name} {_beside(done, name, 'P@1')}, {_beside(done, name, 'P@5')}" for name in sets
    )


def _beside(rows: list[dict[str, Any]], dataset: str, metric: str) -> str:
    found = {row["peer"]: row[metric] for row in rows if row["dataset"] == dataset}
    others = [value for peer, value in found.items() if not peer.startswith("swnn_")]
    best = f"{max(others):.2f}" if others else "none"
    return f"{found[RANKER]:.2f} against {best}"


def _rows(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())


FIGURES = {"tests": suite, "latency": latency, "quality": quality}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        promises.keep(name, FIGURES[name]())
