"""Labels are looked through once, when they are prepared."""

import subprocess
import sys

import numpy as np
import pytest

from swnn_kernels import HybridIndex, Labels, QuantisedRows, Settings, rank


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1], [-1], "labels: ids must not be negative"),
        ([0, 2], [1], "labels: pointers must rise"),
        ([1, 1], [1], "labels: pointers must rise"),
        ([], [], "labels: pointers must be"),
    ],
)
def test_bad_labels_are_refused(indptr, indices, message):
    with pytest.raises(ValueError, match=message):
        Labels.prepare(np.array(indptr), np.array(indices))


def test_labels_of_other_rows_are_refused():
    rows = QuantisedRows(np.array([0, 1]), np.array([0]), np.array([2**23]), 1)
    labels = Labels.prepare(np.arange(3), np.arange(2))
    with pytest.raises(ValueError, match="labels of 2 rows for an index of 1"):
        rank(HybridIndex.build(rows), labels, rows, Settings(1, 1.0, 1.0), 1)


def test_a_batch_reads_the_labels_of_the_neighbours_only():
    """After `prepare`, most of the ids lie in memory that must not be read."""
    code = """
import ctypes, mmap
import numpy as np
from swnn_kernels import HybridIndex, Labels, QuantisedRows, Session, Settings, rank, vote_batch

page, n_pages = mmap.PAGESIZE, 50
memory = mmap.mmap(-1, page * n_pages)
ids = np.frombuffer(memory, np.int32)
ids[:] = np.arange(ids.size) % 1000
n_rows = ids.size // 8
labels = Labels.prepare(np.arange(0, ids.size + 1, 8), ids)
assert np.shares_memory(labels.indices, ids)
features = np.arange(n_rows) % 100 + (np.arange(n_rows) == 0) * 100
rows = QuantisedRows(np.arange(n_rows + 1), features, np.full(n_rows, 2**23), 101)
index = HybridIndex.build(rows)
libc = ctypes.CDLL(None, use_errno=True)
address = ctypes.c_void_p(ids.ctypes.data + page)
assert libc.mprotect(address, ctypes.c_size_t(page * (n_pages - 1)), 0) == 0
first = rows._replace(indptr=np.array([0, 1, 2]), indices=np.array([100, 100]),
                      quantised=np.full(2, 2**23))
settings = Settings(1, 1.0, 1.0)
for method in ("exhaustive", "pruned"):
    best, _ = rank(index, labels, first, settings, 3, n_jobs=2, method=method)
    assert best.tolist() == [[0, 1, 2]] * 2
    assert Session(index, labels, settings, method=method).predict_one([100], [1], 1)[0] == [0]
assert vote_batch(labels, np.array([[0]]), np.array([[0.5]]), 1.0, 1)[0].tolist() == [[0]]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
