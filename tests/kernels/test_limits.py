"""What the kernels promise about memory and about places they cannot write to."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from swnn_kernels import HybridIndex, QuantisedRows


def zipf_rows(n_rows, n_features, size):
    """Rows of distinct features, some in most rows and most in few; values of equal length."""
    rng = np.random.default_rng(0)
    drawn = (n_features ** rng.random((n_rows, size))).astype(np.int32) - 1
    rows = [np.unique(row) for row in drawn]
    indptr = np.cumsum([0] + [row.size for row in rows])
    equal = np.repeat((2**23 / np.sqrt(np.diff(indptr))).astype(np.int32), np.diff(indptr))
    quantised = (equal * rng.uniform(0.3, 1.0, equal.size)).astype(np.int32)
    return QuantisedRows(indptr, np.concatenate(rows), quantised, n_features)


@pytest.mark.parametrize("size", [20, 150])
def test_an_index_is_small_and_so_is_what_building_it_takes(size):
    rows = zipf_rows(300_000 // size * 4, 30_000, size)
    HybridIndex.build(zipf_rows(200, 100, 10))  # compiles
    tracemalloc.start()
    index = HybridIndex.build(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert index.stored.frequent_features.size > 50
    assert index.nbytes <= 12 * index.nnz
    assert peak <= 2 * index.nbytes


def test_where_nothing_can_be_written_kernels_are_compiled_in_memory():
    code = """
import numba.core.caching as caching

def refuse(self):
    raise OSError("read-only")

caching._CacheLocator.ensure_cache_path = refuse
import numpy as np
from swnn_kernels import quantise
quantised = quantise(np.array([0, 2]), np.array([0, 1]), np.array([3.0, 4.0]))
assert quantised.tolist() == [5033165, 6710886]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
