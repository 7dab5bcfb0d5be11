"""A cold start is short because little is compiled; what is compiled computes as before."""

import math
import subprocess
import sys

import numba
import pytest

from swnn_kernels._numba import first_rules

SMALL = """
import gc
from swnn_kernels._numba import inline, kernel

@inline
def double(a):
    return 2 * a

@inline
def larger(a, b):
    return max(double(a), b)

@kernel
def total(n):
    found = 0
    for i in range(n):
        found = larger(found, 2) + larger(i, 0)
    return found

print(total(3), len(larger.signatures), len(double.signatures), gc.isenabled())
"""

SESSION = """
import numpy as np
from swnn_kernels.answer import kernels
from swnn_kernels.warming import _small_index
from swnn_kernels import Labels, Session, Settings
from swnn_kernels.records import Cap

index, rows = _small_index()
labels = Labels.prepare(np.arange(rows.n_rows + 1), np.arange(rows.n_rows))
for cap in (None, Cap(2, 2, np.ones(rows.n_features, np.int64))):
    session = Session(index, labels, Settings(1, 1.0, 1.0), method="pruned", cap=cap)
    session.predict_one(np.arange(2), np.ones(2), 1)
    print(len(kernels.answer_capped.signatures))
"""


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_literals_and_first_values_of_variables_compile_nothing_more():
    assert run(SMALL) == ["16", "1", "1", "True"]


def test_the_capped_search_is_compiled_when_it_is_asked_for():
    assert run(SESSION) == ["0", "1"]


@pytest.mark.parametrize("function", [max, min])
def test_the_larger_of_two_numbers_is_that_of_python(function):
    assert first_rules  # it is imported
    compiled = numba.njit(lambda a, b: (function(a, b), function(a, b, 1)))
    for a, b in ((1, 2), (2, -1), (1, 1.5), (2.5, 1), (0.0, -0.0), (-0.0, 0.0)):
        expected = function(a, b), function(a, b, 1)
        assert [math.copysign(x, x) for x in compiled(a, b)] == [float(x) for x in expected]
        assert math.copysign(1, compiled(a, b)[0]) == math.copysign(1, expected[0])
    assert math.isnan(compiled(math.nan, 1.0)[0])
    assert compiled(1.0, math.nan)[0] == 1.0
