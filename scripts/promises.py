"""Promises with their proof: `keep` records what a command has shown, `render` fills the page.

A promise that was tested has a file docs/data/promises/<name>.json with claim, command, figure,
date and commit, written by the command that tests it (given WRITE=1, where a shorter run must not
replace a longer).
`make promises` renders them into docs/promises.md; so does every `keep`.
"""

from __future__ import annotations

import datetime
import json
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "data" / "promises"
PAGE = ROOT / "docs" / "promises.md"
CODE = ("swnn_xp", "kernels", "tests", "scripts", "asv_benchmarks")
BEGIN, END = "<!-- promises: begin -->", "<!-- promises: end -->"


class Promise(NamedTuple):
    """What is promised, and the command that tests it."""

    claim: str
    command: str


# In the order of the page, which shows those that have a record.
PROMISES = {
    "tests": Promise(
        "Unit tests, the contract of every backend, doctests and the examples of every page pass",
        "make test",
    ),
    "soak": Promise(
        "Backends, kernels, sessions, blocks, threads, shards and saved models give the same bits; "
        "to 1e-12 for fractional exponents",
        "make soak",
    ),
    "cuda-races": Promise(
        "CUDA kernels are free of races and exact in any order of blocks and threads, on a CPU "
        "under ThreadSanitizer and AddressSanitizer",
        "make cuda-races",
    ),
    "kills": Promise(
        "SIGKILL while saving, appending, compacting or predicting: the old or the new model, "
        "complete; nothing reported is lost",
        "make faults",
    ),
    "power-loss": Promise(
        "Loss of power while saving, appending, compacting, relearning, compressing or "
        "predicting: the old or the new model, complete",
        "make faults",
    ),
    "training": Promise(
        "Training that is killed or runs out of memory leaves the older model; what it makes has "
        "the same bytes every time",
        "make faults",
    ),
    "damage": Promise(
        "Forged arrays with valid checksums are rejected or used, and never crash the process",
        "make faults",
    ),
    "fuzz": Promise(
        "Hostile files, models, requests and arguments are read, or rejected with a documented "
        "error",
        "make fuzz",
    ),
    "soak-serve": Promise(
        "The service under full load, reloads and abuse: right answers, no status 500, no more "
        "open files or threads, memory within 5% and 16 MB",
        "make soak-serve",
    ),
    "beyond-int32": Promise(
        "More than 2³¹ non-zeros are indexed, saved, opened and searched, and entries beyond the "
        "2³¹st are found",
        "make beyond-int32",
    ),
    "latency": Promise(
        "One query on one thread is answered faster than by the paper's loop in C",
        "make bench-latency",
    ),
    "quality": Promise(
        "A ranker is more precise than linear models trained on the same rows",
        "make bench-quality",
    ),
}


def keep(name: str, figure: str, folder: Path = FOLDER, page: Path = PAGE) -> None:
    """Record what a command has shown, and renew the page."""
    record = PROMISES[name]._asdict() | {
        "figure": figure,
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    render(folder, page)


def commit() -> str:
    """The commit that is checked out, with a + if code has changed since."""
    changed = _git("status", "--porcelain", "--", *CODE)
    return (_git("rev-parse", "--short=7", "HEAD") or "unknown") + ("+" if changed else "")


def _git(*arguments: str) -> str:
    asked = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def rows(folder: Path = FOLDER) -> list[dict[str, str]]:
    """The records of the promises, in the order of the page."""
    found = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    return [found[name] for name in PROMISES if name in found]


def table(folder: Path = FOLDER) -> str:
    lines = ["| promise | shown | by |", "|---|---|---|"]
    for row in rows(folder):
        date = row["date"].replace("-", "\N{NON-BREAKING HYPHEN}")
        command = f"`{row['command']}`<br>{date}<br>{row['commit']}"
        lines.append(f"| {row['claim']} | {_short(row['figure'])} | {command} |")
    return "\n".join(lines)


def _short(figure: str) -> str:
    """A figure without its last part if that is a long list; the record has all of it."""
    head, _, rest = figure.partition(": ")
    return head if rest.count(", ") > 6 else figure


def render(folder: Path = FOLDER, page: Path = PAGE) -> None:
    """Put the table between the marks of the page."""
    text = page.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    new = f"{before}{BEGIN}\n{table(folder)}\n{END}{after}"
    if new != text:
        page.write_text(new)


if __name__ == "__main__":
    render()
