"""Speed of every backend on one CPU thread, beside the same search in plain SciPy.

Reads ``../shared/data/eurlex57k`` (or the folder given as argument). CPU time, best of three turns.
Backends that have no CPU among their devices are left out: an emulator says nothing about speed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, read_xmc
from swnn_xp.backends import BACKENDS, Backend
from swnn_xp.rows.canonical import canonical_rows
from swnn_xp.rows.quantise import quantise_rows
from swnn_xp.rows.records import QuantisedRows

DATA = Path(__file__).parents[3] / "shared" / "data" / "eurlex57k"
NEIGHBOURS, QUERIES, FEW_QUERIES, TURNS = 25, 256, 8, 3
GOALS = {"numpy": 1.0, "torch": 3.0, "array-api": 50.0}  # times the plain search, at most


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    if not folder.is_dir():
        print(f"left out: there is no {folder}")
        return 0
    X, Y = read_xmc(folder / "train.txt.xz")
    Q, _ = read_xmc(folder / "test.txt.xz")
    print(f"{folder.name}: {X.shape[0]:,} rows; S = {NEIGHBOURS}, beta = 1; ms of CPU time a query")
    plain = measure(plain_search(X), Q[:QUERIES])
    print(f"{'plain scipy':<14}{plain:8.2f}   two products, argpartition")
    failed = False
    for backend in BACKENDS.values():
        reason = backend.unusable() or (None if runs_here(backend) else "has no CPU device")
        if reason:
            print(f"{backend.name:<14}    left out: {reason}")
            continue
        clf = SWNNClassifier(NEIGHBOURS, backend=backend.name).fit(X, Y)
        taken = measure(clf.kneighbors, Q[: FEW_QUERIES if backend.reference else QUERIES])
        goal = GOALS.get(backend.name)
        verdict = (
            ""
            if goal is None
            else f", goal {goal:g}: {'met' if taken <= goal * plain else 'MISSED'}"
        )
        failed |= "MISSED" in verdict
        print(f"{backend.name:<14}{taken:8.2f}   {taken / plain:.2f} times plain scipy{verdict}")
    return int(failed)


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
