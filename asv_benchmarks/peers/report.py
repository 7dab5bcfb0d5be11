"""The figures of a run as Markdown tables."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import machine, record

__all__ = ["heading", "machine", "record", "table"]


def heading(arguments):
    today = datetime.date.today().isoformat()
    return (
        f"Measured {today} on {machine()}, one thread, CPU time of the process, "
        f"{arguments.queries} queries; retrieval of the {arguments.answers} best rows by cosine."
    )


def table(rows):
    """A Markdown table; ratios (in brackets) are to the first row that was measured, ours."""
    ours = next((row for row in rows if "failed" not in row), None)
    found = any("recall" in row for row in rows)
    names = ["", "ms/query", "queries/s in one call", "build s", "memory MB"]
    names += ["recall"] * found + ["P@1", "P@3", "P@5", "remark"]
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for row in rows:
        lines.append("| " + " | ".join(_cells(row, ours, found)) + " |")
    return "\n".join(lines)


def _cells(row, ours, found):
    version = f" {row['version']}" if "version" in row else ""
    title = row["title"] + version
    if "failed" in row:
        return [title, *["–"] * (7 + found), row["failed"].replace("|", "/")]
    cells = [title]
    for key, digits in (("ms_per_query", 3), ("queries_per_s", 0), ("build_s", 1)):
        cells.append(_with_ratio(row[key], ours[key], digits))
    cells.append(_with_ratio(row["memory_mb"], ours["memory_mb"], 0))
    if found:
        cells.append(f"{row['recall']:.3f}")
    return [*cells, *(f"{p:.2f}" for p in row["precision"]), row["note"]]


def _with_ratio(value, ours, digits):
    return f"{value:,.{digits}f} ({value / ours:.2f}x)" if ours > 0 else f"{value:,.{digits}f}"
