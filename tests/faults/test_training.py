"""Training that is killed or starved leaves a whole model; `make faults` does more of both."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("kills", "rows"), [("1", "600"), pytest.param("3", "1500", marks=pytest.mark.full)]
)
def test_short_run(kills, rows):
    script = Path(__file__).with_name("training.py")
    command = [sys.executable, script, "1", kills, rows]
    run = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr[-3000:]
    assert "3 high enough: the same bytes" in run.stdout
    assert " 0 ceilings" not in run.stdout
