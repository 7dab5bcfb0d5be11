"""Measured figures as data: one file for each benchmark under docs/data, joined from many runs.

A benchmark run with WRITE=1 calls `record`; `render.py` makes the tables of the pages from them.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "docs" / "data"


def machine():
    """The processor in words; nothing that names the computer."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(models)} cores of {models[0]}, {platform.system()}"


def read(name, folder=DATA):
    """The rows of a file; none if it was never written."""
    path = Path(folder) / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else []


def record(name, rows, key, folder=DATA):
    """Add dated rows to a file and write the pages, if the environment has WRITE=1.

    A row replaces the one that has the same values of ``key``.
    """
    if not os.environ.get("WRITE"):
        return
    _join(name, rows, key, folder)
    from render import main as write_pages

    write_pages()


def _join(name, rows, key, folder):
    measured = {"date": datetime.date.today().isoformat(), "machine": machine()}
    kept = {tuple(row.get(part) for part in key): row for row in read(name, folder)}
    for row in rows:
        kept[tuple(row.get(part) for part in key)] = row | measured
    path = Path(folder) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(list(kept.values()), indent=1, ensure_ascii=False) + "\n")
    os.replace(new, path)
