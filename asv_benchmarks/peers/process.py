"""Each peer runs in a process of its own, on one thread, with a limit of CPU seconds."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess

from environments import python_of
from install import REPORT

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS")


def peer_of(name):
    return importlib.import_module(f"adapters.{name}").Peer()


def why_missing(peer):
    """Why a peer can't run here, as its installation said if it did; or None."""
    reason = peer.missing()
    if reason is None:
        return None
    noted = json.loads(REPORT.read_text()) if REPORT.exists() else {}
    return noted.get(peer.package) or reason


def figures_of(peer, script, arguments, cpu_seconds):
    """What a script prints about a peer as JSON, or {"failed": why}.

    The script is to set the limit itself: its process ends with SIGXCPU afterwards.
    """
    command = [python_of(peer), str(script), *map(str, arguments)]
    command += ["--cpu-seconds", str(cpu_seconds)]
    environment = os.environ | dict.fromkeys(THREADS, "1")
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=script.parent, env=environment
    )
    if done.returncode == -signal.SIGXCPU:
        return {"failed": f"not done after {cpu_seconds:,} CPU seconds", "limit_s": cpu_seconds}
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        return {"failed": why}
    return json.loads(done.stdout.strip().splitlines()[-1])
