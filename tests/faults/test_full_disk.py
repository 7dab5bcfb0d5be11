"""A disk without room leaves the old model and nothing else."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("full_disk.py")
MOUNT = 'mount -t tmpfs -o size=400k none "$1" && exec "$2" "$3" "$1"'


def failures(command):
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr[-3000:]
    return int(re.fullmatch(r"(\d+) failed\n", run.stdout)[1])


def test_files_that_may_not_grow(tmp_path):
    assert failures([sys.executable, SCRIPT, tmp_path, "40000"]) >= 10


def test_a_small_file_system(tmp_path):
    """In a namespace of its own, which most systems allow without being root."""
    unshare = [shutil.which("unshare") or "unshare", "-rm", "sh", "-c"]
    try:
        subprocess.run([*unshare, f'mount -t tmpfs none "{tmp_path}"'], check=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system does not let a process mount a file system")
    assert failures([*unshare, MOUNT, "sh", tmp_path, sys.executable, SCRIPT]) >= 3
