"""The core of the suite passes where the network is forbidden."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ["tests/core", "tests/smoke", "tests/store/test_round_trip.py"]


def run(*arguments):
    env = os.environ | {"SWNN_EXAMPLES": "5", "PYTHONPATH": str(ROOT / "tests")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "supply.no_sockets", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=1200)


def test_the_core_needs_no_network():
    found = run(*CORE)
    assert found.returncode == 0, found.stdout[-3000:]


def test_a_use_of_the_network_would_fail(tmp_path):
    (tmp_path / "test_use.py").write_text(
        "import urllib.request\ndef test(): urllib.request.urlopen('http://127.0.0.1:9')\n"
    )
    found = run(str(tmp_path / "test_use.py"))
    assert found.returncode == 1
    assert "the network was used" in found.stdout
