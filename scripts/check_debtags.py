"""Measure what PROVENANCE.md says of debtags: counts, leaks of the split, size and time to load.

Usage: python scripts/check_debtags.py
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, vstack

from swnn_xp.datasets import load
from swnn_xp.io import read_xmc, write_xmc


def nearest_cosines(train: Any, queries: Any) -> Any:
    """Cosine of each query with its nearest training row, for rows of unit length."""
    blocks = range(0, queries.shape[0], 500)
    return np.concatenate([(queries[i : i + 500] @ train.T).toarray().max(axis=1) for i in blocks])


def print_leak(split: str, train: Any, queries: Any) -> None:
    best = nearest_cosines(train, queries)
    print(f"{split}: {np.mean(best > 0.9):.1%} of the test rows have a training row with a cosine "
          f"above 0.9, {np.mean(best > 0.9999):.1%} an identical one")  # fmt: skip


def best_time(action: Callable[[], Any]) -> float:
    """Least of four CPU times, so that compiling does not count."""
    times = []
    for _ in range(4):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    data = load("debtags")
    print(data)
    for part, X, Y in (
        ("training", data.X_train, data.y_train),
        ("test", data.X_test, data.y_test),
    ):
        unused = int((np.bincount(Y.indices, minlength=Y.shape[1]) == 0).sum())
        words, tags = X.nnz / X.shape[0], Y.nnz / Y.shape[0]
        print(f"{part} rows: {words:.1f} words, {tags:.2f} tags; {unused} tags have no such row")
    X = csr_array(vstack([data.X_train, data.X_test]))
    X = csr_array(diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    n_train = data.X_train.shape[0]
    print_leak("shipped split", X[:n_train], X[n_train:])
    chosen = np.random.default_rng(0).random(X.shape[0]) < 0.2
    print_leak("random split", X[~chosen], X[chosen])
    packed = resources.files("swnn_xp.datasets").joinpath("debtags", "debtags.npz.xz")
    print(f"packed: {len(packed.read_bytes())} bytes, loaded in "
          f"{best_time(lambda: load('debtags', weighting='counts')):.2f} s CPU")  # fmt: skip
    counts = load("debtags", weighting="counts")
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, "train.txt.xz"), Path(folder, "test.txt.xz")]
        write_xmc(paths[0], counts.X_train, counts.y_train)
        write_xmc(paths[1], counts.X_test, counts.y_test)
        size = sum(path.stat().st_size for path in paths)
        took = best_time(lambda: [read_xmc(path) for path in paths])
        print(f"as repository text, without names: {size} bytes, read in {took:.2f} s CPU")


if __name__ == "__main__":
    main()
