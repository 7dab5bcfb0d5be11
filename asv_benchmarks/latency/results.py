"""The file of measured latencies, docs/data/latency.json: the last figure of each setting."""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path

import numpy as np

FILE = Path(__file__).resolve().parents[2] / "docs" / "data" / "latency.json"
_KEY = "kind", "dataset", "n_neighbors", "beta", "n_candidates", "keep"


def machine():
    """Processor and number of cores."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores of {names[0] if names else 'an unknown processor'}"


def compared(paper, here):
    """Mean times in microseconds of the paper's loop and of an answer, their ratio, and p99."""
    return {
        "paper_us": round(paper.mean(), 1),
        "here_us": round(here.mean(), 1),
        "ratio": round(paper.mean() / here.mean(), 2),
        "p99_us": round(np.percentile(here, 99), 1),
    }


def record(path, **row):
    """Put a row into the file in place of the one with the same settings."""
    row |= {"date": datetime.date.today().isoformat(), "machine": machine()}
    rows = json.loads(path.read_text()) if path.exists() else []
    key = [row.get(name) for name in _KEY]
    kept = [other for other in rows if [other.get(name) for name in _KEY] != key]
    text = json.dumps([*kept, row], indent=1, ensure_ascii=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)
