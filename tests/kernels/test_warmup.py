"""After a warm-up nothing is left to compile, and it says truly where the kernels are kept."""

import os
import subprocess
import sys

WARM = """
import sys
import numpy as np
import swnn_kernels
from swnn_kernels._numba.decorators import KERNELS
steps = []
folder = swnn_kernels.warmup(steps.append)
assert len(steps) == len(set(steps)) >= 4
before = [list(kernel.signatures) for kernel in KERNELS]
left_out = [k.py_func.__name__ for k, s in zip(KERNELS, before) if not s]
assert not left_out, left_out
"""
USE_ALL = """
from swnn_kernels import HybridIndex, Labels, QuantisedRows, Session, Settings, UntrustedIndex
from swnn_kernels import quantise, rank, search, search_capped, shortlist, vote_batch
from swnn_kernels.records import Cap
indptr, indices = np.array([0, 2, 3, 5], np.int32), np.array([0, 3, 1, 0, 2], np.uint16)
rows = QuantisedRows(indptr, indices, quantise(indptr, indices, np.ones(5, np.float32)), 4)
labels, settings = Labels.prepare(np.arange(4), np.arange(3)), Settings(2, 1, 1)
for frequent in (2.0, 0.5):
    built = HybridIndex.build(rows, frequent=frequent, fewest=1)
    for index in (built, UntrustedIndex.from_arrays(built.arrays())):
        index.check()
        index.rows()
        index.shared_features(np.int32(1), np.arange(4, dtype=np.int16))
        for method in ("auto", "exhaustive", "pruned"):
            for removed in (None, np.array([True, False, False])):
                ids, sims = search(index, rows, 2, 0, removed=removed, method=method)
                rank(index, labels, rows, settings, 2, removed=removed, method=method, n_jobs=2)
                cap = Cap(2, 2, np.ones(4, np.int32))
                search_capped(index, rows, 2, 0, cap, removed=removed)
                shortlist(index, rows, 0, cap, removed=removed)
                for limit in (None, cap):
                    session = Session(
                        index, labels, settings, removed=removed, method=method, cap=limit
                    )
                    session.predict_one([0, 2], [1, 2], 2)
                    session.kneighbors_one(np.array([1], np.int32), np.array([2], np.float32))
                session.shortlist_one([1], [2])
vote_batch(labels, ids, sims, 1, 2)
"""
READ = """
from pathlib import Path
from swnn_xp import read_xmc
path = Path(sys.argv[1])
path.write_text("1 2 3\\n0,2 0:1.5 1:-2e-3\\n")
read_xmc(path)
"""
LEARN = """
import scipy.sparse as sp
from swnn_xp import LearnedWeights, SWNNRanker
rng = np.random.default_rng(0)
X = sp.csr_array((rng.random((60, 9)) < 0.4) * rng.random((60, 9)))
Y = sp.csr_array((rng.random((60, 4)) < 0.3).astype(np.int8))
for array in (X.data, X.indices, X.indptr, Y.indptr):
    array.flags.writeable = False
LearnedWeights().fit(X, Y)
for params in ({}, {"n_neighbors": 2, "n_candidates": np.int64(2), "C": 1, "n_jobs": 2},
               {"centroids": True}):
    clf = SWNNRanker(**params).fit(X, Y)
    clf.predict_topk(X[:7])
    clf.predict_proba(X.toarray())
    clf.explain(X[[0]], 1)
    for _ in range(2):
        clf.session().predict_one([0, 3], [1, 2], 9)
        clf.session(postings=2).predict_one(np.arange(3), np.ones(3, np.float32))
        clf.partial_fit(X[:3], Y[:3])
    clf.save(sys.argv[1] + " ranked")
    SWNNRanker.load(sys.argv[1] + " ranked").session().predict_one([1], [1.0])
    SWNNRanker.load(sys.argv[1] + " ranked", mmap=False, verify=True).predict_topk(X)
"""
COMPARE = """
after = [list(kernel.signatures) for kernel in KERNELS]
changed = [k.py_func.__name__ for k, a, b in zip(KERNELS, before, after) if a != b]
assert not changed, changed
assert len(after) == len(before), "an entry point was defined after the warm-up"
print(folder)
"""


def run(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_after_a_warmup_no_entry_point_compiles(tmp_path):
    folder = run(WARM + USE_ALL + READ + LEARN + COMPARE, tmp_path / "rows.txt")
    assert os.path.isdir(folder)


NOWHERE = """
import numba.core.caching as caching

def refuse(self):
    raise OSError("read-only")

caching._CacheLocator.ensure_cache_path = refuse
"""


def test_where_nothing_can_be_kept_there_is_no_folder():
    code = """
import swnn_kernels.warming
from swnn_kernels._numba.decorators import cache_folder
print(cache_folder())
"""
    assert run(NOWHERE + code) == "None"
    assert run(code) != "None"


def test_the_command_tells_where(tmp_path):
    code = """
import swnn_kernels.warming as warming
warming.warmup = lambda tell: {folder!r}
from swnn_xp.cli.main import main
main(["warmup"])
"""
    assert "kept under /some/where" in run(code.format(folder="/some/where"))
    said = run(code.format(folder=None))
    assert "kept" not in said
    assert "no folder could be written" in said
