"""Speed of every backend on one CPU thread: `make bench-backends`.

Search on EURLEX57K beside the same search in plain SciPy, and a ranker's batches on bibtex, from
``../shared/data`` (or the folder given as argument). CPU time, best of three turns. Backends that
have no CPU among their devices are left out: an emulator says nothing about speed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, SWNNRanker, read_xmc
from swnn_xp.backends import BACKENDS, Backend
from swnn_xp.rows.canonical import canonical_rows, quantise_rows
from swnn_xp.rows.records import QuantisedRows

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import record

DATA = Path(__file__).parents[3] / "shared" / "data"
NEIGHBOURS, QUERIES, FEW_QUERIES, TURNS = 25, 256, 8, 3
GOALS = {"numpy": 1.0, "torch": 3.0, "array-api": 50.0}  # times the plain search, at most


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    sets = folder / "eurlex57k", folder / "bibtex"
    if missing := [str(each) for each in sets if not each.is_dir()]:
        print(f"left out: there is no {missing[0]}")
        return 0
    X, Y, Q = read(sets[0])
    plain = measure(plain_search(X), Q)
    ranker, questions = trained(sets[1])
    print("ms of CPU time: a query on EURLEX57K (S = 25, beta = 1), beside plain SciPy;")
    print("a query of a batch and a query alone on bibtex, ranked")
    print(f"{'plain SciPy':<12}{plain:9.2f}   two products, argpartition")
    rows, failed = [], False
    for backend in BACKENDS.values():
        reason = backend.unusable() or (None if runs_here(backend) else "has no CPU device")
        if reason:
            print(f"{backend.name:<12}    left out: {reason}")
            continue
        some = FEW_QUERIES if backend.reference else QUERIES
        clf = SWNNClassifier(NEIGHBOURS, backend=backend.name).fit(X, Y)
        search = measure(clf.kneighbors, Q[:some])
        ranker.set_params(backend=backend.name)
        batch = measure(ranker.predict_topk, questions[:some])
        alone = measure(ranker.predict_topk, questions[:1])
        goal = GOALS.get(backend.name, np.inf)
        verdict = "" if goal == np.inf else f", goal {goal:g}"
        if search > goal * plain:
            failed, verdict = True, f"{verdict}: MISSED"
        times = f"{search / plain:.2f} times plain SciPy{verdict}"
        print(f"{backend.name:<12}{search:9.2f}{batch:9.3f}{alone:9.2f}   {times}")
        rows.append(
            {
                "backend": backend.name,
                "search_ms": search,
                "times_plain": search / plain,
                "ranked_ms": batch,
                "ranked_alone_ms": alone,
            }
        )
    record("backends", rows, ("backend",))
    return int(failed)


def read(folder: Path) -> tuple[Any, Any, Any]:
    """Training rows and labels, and the first test rows."""
    X, Y = read_xmc(folder / "train.txt.xz")
    Q, _ = read_xmc(folder / "test.txt.xz")
    return X, Y, Q[:QUERIES]


def trained(folder: Path) -> tuple[SWNNRanker, Any]:
    """A ranker, and queries for it."""
    X, Y, Q = read(folder)
    return SWNNRanker().fit(X, Y), Q


def runs_here(backend: Backend) -> bool:
    return backend.reference or "cpu" in backend.devices


def measure(search: Callable[[Any], Any], queries: Any) -> float:
    """Milliseconds of CPU time a query, best of several turns."""
    search(queries[:2])
    best = np.inf
    for _ in range(TURNS):
        started = time.process_time()
        search(queries)
        best = min(best, time.process_time() - started)
    return 1e3 * best / queries.shape[0]


def plain_search(X: Any) -> Callable[[Any], Any]:
    """The search as one would write it: matmul for dots, matmul for overlaps, argpartition."""
    rows, ones = matrices(quantise_rows(canonical_rows(X)))
    rows_t, ones_t, sizes = rows.T.tocsr(), ones.T.tocsr(), np.diff(rows.indptr)

    def search(Q: Any) -> Any:
        found = []
        for start in range(0, Q.shape[0], 64):
            units, there = matrices(quantise_rows(canonical_rows(Q[start : start + 64])))
            dots, overlaps = (units @ rows_t).toarray(), (there @ ones_t).toarray()
            union = np.diff(units.indptr)[:, None] + sizes - overlaps
            sims = dots * 2.0**-46 * (overlaps / np.maximum(union, 1))
            best = np.argpartition(-sims, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
            near = np.take_along_axis(sims, best, axis=1)
            found.append(np.take_along_axis(best, np.argsort(-near, axis=1), axis=1))
        return np.concatenate(found)

    return search


def matrices(rows: QuantisedRows) -> tuple[sp.csr_array, sp.csr_array]:
    shape, indptr = (rows.n_rows, rows.n_features), rows.indptr.astype(np.int32)
    units = sp.csr_array((rows.quantised.astype(np.float64), rows.indices, indptr), shape)
    return units, sp.csr_array((np.ones_like(units.data), rows.indices, indptr), shape)


if __name__ == "__main__":
    sys.exit(main())
