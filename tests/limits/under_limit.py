"""Ask under a limit of memory; run as a program, for the limit is for the whole process.

python under_limit.py BACKEND BUDGET: a batch whose temporaries would take hundreds of megabytes at
once is answered in a hundred, even where the budget allows more, and is what it is without a limit.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from swnn_xp import SWNNClassifier

ROOM = 100_000_000


def in_use() -> int:
    """Bytes of address space."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def limit(more: int | None) -> None:
    """Allow so much more address space, or any."""
    wanted = resource.RLIM_INFINITY if more is None else in_use() + more
    resource.setrlimit(resource.RLIMIT_AS, (wanted, resource.RLIM_INFINITY))


def main() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((20_000, 300), density=0.05, rng=rng, format="csr")
    Y = sp.random_array((20_000, 50), density=0.04, rng=rng, format="csr") != 0
    backend, budget = sys.argv[1], int(sys.argv[2])
    clf = SWNNClassifier(backend=backend, memory_budget=budget).fit(X, Y)
    queries = X[:150]  # all pairs at once would take 150 * 20,000 * 96 bytes = 288 MB
    clf.kneighbors(queries[:2])
    clf.predict_topk(queries[:2])
    limit(ROOM)
    sims, ids = clf.kneighbors(queries)
    labels, scores = clf.predict_topk(queries)
    likely = clf.predict_proba(queries)
    limit(None)
    roomy = SWNNClassifier(backend="numba").fit(X, Y)
    for mine, its in zip((sims, ids), roomy.kneighbors(queries), strict=True):
        np.testing.assert_array_equal(mine, its)
    for mine, its in zip((labels, scores), roomy.predict_topk(queries), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert (likely != roomy.predict_proba(queries)).nnz == 0
    limit(ROOM)
    try:
        np.ones(2 * ROOM, np.uint8)
    except MemoryError:
        print("the limit holds")


if __name__ == "__main__":
    main()
