"""Count the kernel launches and the waits of a batch of 4,096 queries: python -m cuda.launches.

CuPy executed on the CPU counts launches; each read that CuPy declares to synchronise is a wait.
Queries are on the device, quantised, and so are the answers. Neither number depends on the rows,
so there are few: a CPU takes long for 4,096 queries.
"""

from __future__ import annotations

import ctypes
import os
import sys

import numpy as np
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, SWNNRanker

QUERIES, MOST_LAUNCHES, MOST_WAITS = 4096, 12, 2


def count_calls(clf: SWNNClassifier | SWNNRanker, X: np.ndarray) -> tuple[int, int]:
    """Rank labels of rows, given on the host: launches and waits."""
    import cupyx.scipy.sparse as cusp
    from cupy._core import syncdetect

    launched = ctypes.CDLL(os.environ["CUPY_HOST_LIB"]).cuHostLaunchCount
    model, waits, declare = clf.current_model(), [], syncdetect._declare_synchronize
    queries = model.queries(cusp.csr_matrix(sp.csr_matrix(X)))
    for _ in range(2):  # the first time compiles, quantises, and looks at the labels
        before = launched()
        waits.clear()
        syncdetect._declare_synchronize = lambda: waits.append(1)
        try:
            model.ranking.rank(model, queries, 5, clf.options)
        finally:
            syncdetect._declare_synchronize = declare
    return launched() - before, len(waits)


def main() -> int:
    rng = np.random.default_rng(0)
    X, Y = rng.random((40, 12)) < 0.3, rng.random((40, 9)) < 0.3
    queries = (rng.random((QUERIES, 12)) < 0.3).astype(float)
    over = False
    for name, clf in (("classifier", SWNNClassifier(5)), ("ranker", SWNNRanker(5))):
        fitted = clf.set_params(backend="cupy").fit(X.astype(float), Y.astype(int))
        launches, waits = count_calls(fitted, queries)
        print(f"{QUERIES:,} queries, {name}: {launches} launches, {waits} waits")
        over |= launches > MOST_LAUNCHES or waits > MOST_WAITS
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
