"""Some kills at random moments; `make faults` does many more."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("each", [3, pytest.param(10, marks=pytest.mark.full)])
def test_what_was_acknowledged_survives_kills(each):
    script = Path(__file__).with_name("kills.py")
    run = subprocess.run(
        [sys.executable, script, "1", str(5 * each)], capture_output=True, text=True, timeout=900
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert f"{each} kills of compact, {each} kills of rank, {each} kills of predict" in run.stdout
