"""Run a script in a process of its own and watch its memory from outside."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

_EVERY = 0.01  # seconds
_FIELDS = ("VmHWM", "RssAnon", "RssFile")


class Watched(NamedTuple):
    figures: dict[str, Any]
    """What the script printed last, as JSON."""
    peak: float
    """GB: the kernel's own high-water mark of resident memory, mapped files included."""
    peak_anonymous: float
    """GB: largest private memory seen; what can't be dropped when memory gets scarce."""
    peak_file: float
    """GB: largest part of mapped files that was resident; the kernel may drop it at any time."""


def run(script: str, *arguments: object) -> Watched:
    """Run one of the scripts beside this file."""
    command = [sys.executable, str(Path(__file__).with_name(script)), *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peaks = dict.fromkeys(_FIELDS, 0)
    while process.poll() is None:
        for field, kilobytes in _memory(process.pid).items():
            peaks[field] = max(peaks[field], kilobytes)
        time.sleep(_EVERY)
    assert process.stdout is not None
    printed = process.stdout.read().splitlines()
    if process.returncode:
        raise SystemExit(f"{script} failed with code {process.returncode}")
    figures = json.loads(printed[-1]) if printed else {}
    return Watched(figures, *(peaks[field] * 1024 / 1e9 for field in _FIELDS))


def _memory(pid: int) -> dict[str, int]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    found = (line.partition(":") for line in lines)
    return {name: int(value.split()[0]) for name, _, value in found if name in _FIELDS}
