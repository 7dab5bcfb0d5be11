"""A batch keeps within its memory budget, whatever its size."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

BUDGET = 40_000_000


@pytest.mark.parametrize("call", ["kneighbors", "predict_topk"])
def test_temporaries_stay_within_the_budget(classifier, subject, call):
    if subject.backend in ("cupy", "torch") or subject.kind != "numpy":
        pytest.skip("tracemalloc sees NumPy's memory only")
    rng = np.random.default_rng(0)
    X = sp.random_array((8_000, 300), density=0.05, rng=rng, format="csr", dtype=np.float32)
    Y = sp.random_array((8_000, 50), density=0.04, rng=rng, format="csr", dtype=np.float32) != 0
    clf = classifier(memory_budget=BUDGET).fit(X, Y)
    queries = X[:400]  # all pairs at once would take 400 * 8,000 * 96 bytes = 307 MB
    getattr(clf, call)(queries[:2])
    tracemalloc.start()
    try:
        result = getattr(clf, call)(queries)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    own = sum(array.nbytes for array in result)
    assert peak - 2 * own < BUDGET
