"""Some kills at random moments; `make faults` does many more."""

import subprocess
import sys
from pathlib import Path


def test_what_was_acknowledged_survives_kills():
    script = Path(__file__).with_name("kills.py")
    run = subprocess.run(
        [sys.executable, script, "1", "50"], capture_output=True, text=True, timeout=900
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert "10 kills of compact, 10 kills of rank, 10 kills of predict" in run.stdout
