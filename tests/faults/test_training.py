"""Training that is killed or starved leaves a whole model; `make faults` does more of both."""

import subprocess
import sys
from pathlib import Path


def test_short_run():
    script = Path(__file__).with_name("training.py")
    command = [sys.executable, script, "1", "3", "1500"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr[-3000:]
    assert "3 high enough: the same bytes" in run.stdout
    assert " 0 ceilings" not in run.stdout
