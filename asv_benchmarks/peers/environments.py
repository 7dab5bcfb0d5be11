"""Which Python runs a peer: this environment's, or one of the peer's own.

A peer whose requirements contradict ours (PECOS needs numpy<2) gets an environment of its own below
this one. It reads the problem from files, so it does not need this library.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OWN = Path(sys.prefix) / "own"


def folder_of(peer):
    """The peer's own environment, or None if it shares this one."""
    return OWN / peer.package if peer.own_requirements else None


def python_of(peer):
    """The interpreter that runs a peer."""
    folder = folder_of(peer)
    return sys.executable if folder is None else str(folder / "bin" / "python")


def can_import(peer):
    """Whether the peer's interpreter exists and finds its module."""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    try:
        return subprocess.run([python_of(peer), "-c", code, peer.module]).returncode == 0
    except OSError:
        return False
