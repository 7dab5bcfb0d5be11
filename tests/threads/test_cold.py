"""Threads that start together on a model that nobody has used yet; addresses keep their owners."""

import gc
import subprocess
import sys
import weakref
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from swnn_kernels._numba import table
from swnn_kernels.parallel import in_order, once_property
from swnn_kernels.records import Int64


@pytest.mark.parametrize("rounds", ["1", pytest.param("4", marks=pytest.mark.full)])
def test_threads_start_together_on_cold_models(rounds):
    program = Path(__file__).with_name("cold.py")
    ran = subprocess.run(
        [sys.executable, program, rounds], capture_output=True, text=True, timeout=600, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "the same answers\n"), ran.stderr


class Inner(NamedTuple):
    values: Int64


class Outer(NamedTuple):
    inner: Inner
    values: Int64


def test_a_table_keeps_what_it_points_to():
    inner, own = np.arange(5), np.arange(3)
    owners = [weakref.ref(inner), weakref.ref(own)]
    held = table(Outer(table(Inner(inner)), own))
    del inner, own
    gc.collect()
    assert all(owner() is not None for owner in owners)
    held = held[:2]  # a view keeps them too
    gc.collect()
    assert all(owner() is not None for owner in owners)
    del held
    gc.collect()
    assert not any(owner() for owner in owners)


def test_a_property_is_computed_once_by_threads_that_start_together():
    class Counted:
        calls = 0

        @once_property
        def value(self):
            self.calls += 1
            return sum(range(200_000)), object()

    for _ in range(20):
        counted = Counted()
        found = list(in_order(lambda _, it=counted: it.value, range(8), n_jobs=4))
        assert counted.calls == 1
        assert len({id(marker) for _, marker in found}) == 1
