"""This process's memory."""

from __future__ import annotations

import resource
from pathlib import Path


def peak_gigabytes() -> float:
    """Largest resident memory so far, mapped files included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def anonymous_gigabytes() -> float:
    """Private memory now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024 / 1e9
