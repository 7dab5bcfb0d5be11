"""All backends against each other on random models and queries: python soak.py SEED COUNT MINUTES.

A round makes a model and queries from the seed and its number. The numba backend answers, the
others must give the same bits: its two kernels on an index split at random, its session, and every
other backend that is usable here. One comparison is one query's whole answer (neighbours with
similarities, or labels with scores) by one of them. With exponents other than 0, 1 and 2, where
libraries differ in the last place of `pow`, similarities are compared to 1e-12 and no labels.

python soak.py SEED ROUND repeats one round; a failure prints that command.
"""

from __future__ import annotations

import collections
import sys
import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import swnn_kernels
from swnn_xp import SWNNClassifier
from swnn_xp.backends import BACKENDS

# Rounds between two turns of a backend: the slower, the more.
EVERY = {"numpy": 1, "array-api": 8, "torch": 8, "cupy": 300}


class Round(NamedTuple):
    X: sp.csr_array
    Y: sp.csr_array
    Q: sp.csr_array
    params: dict[str, Any]
    k: int
    fitted: int
    """Rows at first; the others are appended."""
    removed: np.ndarray
    frequent: float

    @property
    def exact(self) -> bool:
        return {self.params["alpha"], self.params["beta"]} <= {0, 1, 2}


def values(rng: np.random.Generator, count: int) -> np.ndarray:
    """Values of one kind: few that tie, any, or of extreme size."""
    kind = rng.integers(5)
    if kind == 0:
        return np.ones(count)
    if kind == 1:
        return rng.choice([1.0, 2.0, 0.5], count)
    if kind == 2:
        return rng.choice([1.0, -1.0, 3.0], count)
    if kind == 3:
        return rng.choice([1e-300, 1.0, 1e300], count)
    return rng.lognormal(size=count)


def matrix(rng: np.random.Generator, n: int, d: int, density: float) -> sp.csr_array:
    """Random rows; some features are in most of them, some in hardly any."""
    often = np.minimum(1, density * 2 * rng.random(d) ** 2 * 1.5)
    support = sp.csr_array(rng.random((n, d)) < often)
    return sp.csr_array((values(rng, support.nnz), support.indices, support.indptr), shape=(n, d))


def make(seed: int, number: int) -> Round:
    rng = np.random.default_rng([seed, number])
    n, d = int(2 ** rng.uniform(0, 10.5)), int(2 ** rng.uniform(0, 8))
    X = matrix(rng, n, d, rng.uniform(0.02, 0.6))
    if rng.random() < 0.3:  # copies: many rows share every place
        X = X[rng.integers(0, max(1, n // 5), n)]
    Y = sp.csr_array(rng.random((n, int(rng.integers(1, 40)))) < rng.uniform(0.02, 0.3))
    Q = sp.csr_array(sp.vstack([matrix(rng, 90, d, rng.uniform(0.02, 0.6)), X[:20]]))
    exact = rng.random() < 0.9
    exponents = rng.choice([0, 1, 2] if exact else [0.5, 1.7, 3.0, 0.0], 2)
    S = int(rng.choice([1, 2, 5, 25, n, n + 3]))
    params = {"n_neighbors": S, "alpha": float(exponents[0]), "beta": float(exponents[1])}
    live = rng.random() < 0.3 and n > 1
    fitted = int(rng.integers(1, n)) if live else n
    gone = rng.permutation(n)[: rng.integers(0, n // 2 + 1)] if live else np.zeros(0, int)
    return Round(X, Y, Q, params, int(rng.integers(1, 12)), fitted, gone, rng.choice([0, 0.1, 0.5]))


def classifier(case: Round, backend: str) -> SWNNClassifier:
    first, rest = slice(case.fitted), slice(case.fitted, None)
    clf = SWNNClassifier(backend=backend, **case.params).fit(case.X[first], case.Y[first])
    if case.fitted < case.X.shape[0]:
        clf.partial_fit(case.X[rest], case.Y[rest])
    return clf.remove(case.removed) if case.removed.size else clf


def answers(case: Round, backend: str) -> dict[str, Any]:
    """Neighbours and ranking of one backend."""
    clf = classifier(case, backend)
    return {"neighbours": clf.kneighbors(case.Q), "labels": clf.predict_topk(case.Q, case.k)}


def by_kernel(case: Round, method: str) -> dict[str, Any]:
    """The same by one kernel, on an index whose rows are split at random."""
    clf = classifier(case, "numba").compact()
    model = clf._model
    rows = swnn_kernels.Rows(*model.rows())
    index = swnn_kernels.HybridIndex.build(rows, frequent=case.frequent, fewest=1)
    query = swnn_kernels.Rows(*model.queries(case.Q))
    settings = swnn_kernels.Settings(*case.params.values())
    found = swnn_kernels.search(index, query, settings.n_neighbors, settings.beta, method=method)
    labels = swnn_kernels.Labels.prepare(*model.labels[:2])
    labels = swnn_kernels.rank(index, labels, query, settings, case.k, method=method)
    ids = np.arange(index.n_rows) if model.row_ids is None else model.row_ids
    return {"neighbours": (np.append(ids, -1)[found[0]], found[1]), "labels": labels}


def by_session(case: Round) -> dict[str, Any]:
    session = classifier(case, "numba").session()
    rows = [case.Q[[i]] for i in range(case.Q.shape[0])]
    for row in rows:
        row.sort_indices()
    found = [session.kneighbors_one(row.indices, row.data) for row in rows]
    ranked = [session.predict_one(row.indices, row.data, k=case.k) for row in rows]
    return {
        "neighbours": tuple(map(np.array, zip(*found, strict=True))),
        "labels": tuple(map(np.array, zip(*ranked, strict=True))),
    }


def differing(case: Round, mine: dict[str, Any], its: dict[str, Any]) -> str | None:
    """What differs, or None."""
    if not case.exact:
        close = np.allclose(mine["neighbours"][1], its["neighbours"][1], rtol=1e-12, atol=0)
        return None if close else "similarities"
    for what, answer in mine.items():
        if not all(np.array_equal(a, b) for a, b in zip(answer, its[what], strict=True)):
            return what
    return None


def run(seed: int, number: int, usable: list[str], counts: collections.Counter[str]) -> None:
    """One round; an AssertionError says how to repeat it."""
    case = make(seed, number)
    ways: dict[str, Any] = {
        "exhaustive kernel": lambda: by_kernel(case, "exhaustive"),
        "pruned kernel": lambda: by_kernel(case, "pruned"),
        "session": lambda: by_session(case),
    }
    for name in usable:
        if number % EVERY[name] == 0:
            ways[name] = lambda name=name: answers(case, name)
    expected = answers(case, "numba")
    for way, find in ways.items():
        found = differing(case, expected, find())
        assert found is None, f"{way}: {found} differ: make soak SEED={seed} ROUND={number}"
        counts[way] += case.Q.shape[0] * (2 if case.exact else 1)


def main() -> None:
    usable = [name for name in EVERY if BACKENDS[name].missing() is None]
    counts: collections.Counter[str] = collections.Counter()
    seed, limit, *minutes = map(int, sys.argv[1:])
    if not minutes:
        run(seed, limit, usable, counts)
        print(f"round {limit} of seed {seed}: no difference")
        return
    started, number = time.monotonic(), 0
    while counts.total() < limit and time.monotonic() - started < 60 * minutes[0]:
        run(seed, number, usable, counts)
        number += 1
    shares = ", ".join(f"{way} {count:,}" for way, count in counts.items())
    print(f"{counts.total():,} comparisons in {number:,} rounds, no difference: {shares}")


if __name__ == "__main__":
    main()
