"""Plain numba trains the same model and ranks the same labels, to the bit."""

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import sys
sys.path.insert(0, sys.argv[1])
import hashlib
import numpy as np
from learn.problems import digest, rows_and_labels
from swnn_kernels._numba import IS_FULL
from swnn_xp import SWNNRanker
assert IS_FULL == (sys.argv[2] == "full")
X, Y = rows_and_labels(120)
clf = SWNNRanker(n_neighbors=9, n_jobs=2).fit(X, Y)
ranked = clf.predict_topk(X, 6)
session = clf.session()
for row in range(20):
    at = np.flatnonzero(X[row])
    for mine, its in zip(session.predict_one(at, X[row, at], 6), ranked, strict=True):
        assert mine.tolist() == its[row].tolist()
print(digest(clf), hashlib.sha256(b"".join(part.tobytes() for part in ranked)).hexdigest())
"""


def run(kind, **variables):
    command = [sys.executable, "-c", CODE, str(Path(__file__).parents[1]), kind]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_plain_kernels_train_and_rank_alike(plain_numba):
    assert run("full") == run("plain", **plain_numba)
