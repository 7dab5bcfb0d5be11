"""The counter of memory accesses, where it is known what the kernels must do."""

import shutil

import numpy as np
import pytest
from cuda.counts import build, count, missed

from swnn_xp import SWNNClassifier, SWNNRanker

pytestmark = [
    pytest.mark.full,  # compiling takes ten seconds
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
]
RNG = np.random.default_rng(3)
X = (RNG.random((300, 40)) < 0.2) * RNG.integers(1, 4, (300, 40)).astype(float)
Y = (RNG.random((300, 12)) < 0.2).astype(int)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("counts"))


def test_a_posting_is_one_atomic_and_four_bytes(program):
    counts = count(program, SWNNClassifier(25, beta=1, backend="numba").fit(X, Y), X[:40])["search"]
    n_postings = (X[:40] != 0).astype(int) @ (X != 0).sum(axis=0)
    assert counts["postings"] == round(n_postings.mean(), 1)
    assert n_postings.mean() <= counts["shared_atomics"] <= n_postings.mean() + 2 * 300
    assert counts["bytes_read"] > 4 * n_postings.mean()
    assert 25 <= counts["global_atomics"] <= 300
    assert counts["wide_shared_atomics"] == 0
    assert counts["launches"] == 2
    assert not missed({"kind": "classifier", "stage": "search"} | counts | {"sectors": 1})
    assert missed({"kind": "classifier", "stage": "search"} | counts | {"sectors": 10**6})


def test_every_stage_is_counted(program):
    ranker = SWNNRanker(n_neighbors=9, n_candidates=5, backend="numba").fit(X, Y)
    counts = count(program, ranker, X[:40])
    assert counts.keys() == {"search", "exhaustive", "votes", "candidates", "scores"}
    assert counts["exhaustive"]["launches"] == counts["search"]["fallbacks"] == 0
    for stage in ("votes", "candidates", "scores"):
        assert counts[stage]["launches"] == 1
        assert counts[stage]["global_atomics"] == 0  # the votes fit shared memory
        assert counts[stage]["shared_atomics"] > 0
