"""Batches are answered in less memory than they would like."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("under_limit.py")
# Budgets of all backends are kept in tests/contract/test_memory.py too.
REPEATED = [("numpy", 40_000_000), ("array-api", 10**9)]


@pytest.mark.parametrize(
    ("backend", "budget"),
    [
        ("numba", 40_000_000),
        ("numpy", 10**9),
        *(pytest.param(*each, marks=pytest.mark.full) for each in REPEATED),
    ],
)
def test_a_limit_of_the_process_is_kept(backend, budget):
    run = subprocess.run(
        [sys.executable, SCRIPT, backend, str(budget)], capture_output=True, text=True, timeout=900
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout == "the limit holds\n"
