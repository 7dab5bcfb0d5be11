"""A file of measured figures: one row for each data set and peer, joined from many runs."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "docs" / "data" / "quality.json"


def measured(rows):
    """When and where the rows were measured, as a sentence."""
    days = sorted({row["date"] for row in rows})
    machines = sorted({_short(row["machine"]) for row in rows})
    when = days[0] if len(days) == 1 else f"on different days, {days[0]} to {days[-1]},"
    return f"Measured {when} on {' or '.join(machines)}."


def not_whole(rows, whole):
    """Which rows were measured on a part of a test set, as a sentence; nothing if all on all of it.

    ``whole`` has the number of test rows of each data set.
    """
    parts = {
        f"{row['dataset']} {row.get('peer', row.get('method'))}: {row['test_rows']:,} test rows"
        for row in rows
        if row.get("test_rows", 0) < whole.get(row["dataset"], 0) and "failed" not in row
    }
    return f" Not yet on the whole test set: {'; '.join(sorted(parts))}." if parts else ""


def _short(machine):
    """A processor as people call it."""
    return re.sub(r"\(R\)|\(TM\)| Processor|, Linux", "", machine)


class Results:
    """Rows by data set and peer, or by other names, written after each change."""

    def __init__(self, path=FILE, names=("dataset", "peer")):
        self.path, self.names = Path(path), names
        self.read()

    def key(self, row):
        return tuple(row[name] for name in self.names)

    def read(self):
        rows = json.loads(self.path.read_text()) if self.path.exists() else []
        self.rows = {self.key(row): row for row in rows}

    def settled(self, dataset, peer, cpu_seconds):
        """Whether a row needs no run: it was measured, or ran out of at least as much time."""
        row = self.rows.get((dataset, peer), {"failed": "never run"})
        return "failed" not in row or row.get("limit_s", 0) >= cpu_seconds

    def put(self, row):
        """Keep a row; a figure that was measured is not replaced by a failure."""
        self.read()  # another run may have added to it
        key = self.key(row)
        if "failed" in row and "failed" not in self.rows.get(key, row):
            return
        self.rows[key] = row
        text = json.dumps(list(self.rows.values()), indent=1, ensure_ascii=False) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(text)
        os.replace(new, self.path)
