"""Peak memory of a piece of work, as Linux counts it."""

from __future__ import annotations

from pathlib import Path

_RESET_PEAK = "5"  # what proc(5) says clear_refs takes for it


def reset_peak() -> bool:
    """Restart the count; False where the system can't."""
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    except OSError:
        return False
    return True


def peak_bytes() -> int | None:
    """Largest resident memory since `reset_peak`, mapped files included; None if not known.

    Examples
    --------
    >>> peak_bytes() is None or peak_bytes() > 0
    True
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    lines = [line.split() for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0][1]) * 1024 if lines else None
