"""Would one dense product over the frequent features pay on torch? `make bench-dense-head`.

The torch backend multiplies all rows with a block of queries as sparse matrices, once for dot
products (float64) and once for overlaps (float32). Here both are split: features in at least one
row of 64 in a dense float32 product, the others in sparse ones. A float32 product is a bound
only, so exact similarities of the best rows would come on top: they are not even counted. CPU
time of one thread for a query of a block, best of several turns.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from swnn_xp import SWNNClassifier, read_xmc
from swnn_xp.backends import torch_
from swnn_xp.rows.canonical import canonical_rows, quantise_rows

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import record

DATA = Path(__file__).parents[3] / "shared" / "data"
SETS, TURNS, FREQUENT = ("eurlex57k", "citeulike-t"), 3, 64
BLOCK = torch_._BLOCK
RUN = torch_._CACHED_PAIRS // BLOCK  # rows that are multiplied at a time


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    if missing := [name for name in SETS if not (folder / name).is_dir()]:
        print(f"left out: there is no {folder / missing[0]}")
        return 0
    torch.set_num_threads(1)
    rows = []
    for name in SETS:
        row = {"dataset": name, **figures(folder / name)}
        print(", ".join(f"{key} {value:.4g}" for key, value in row.items() if key != "dataset"))
        rows.append(row)
    record("dense_head", rows, ("dataset",))
    return 0


def figures(folder: Path) -> dict[str, float]:
    """Milliseconds of a query: the search today, its sparse products, and those with a head."""
    X, Y = read_xmc(folder / "train.txt.xz")
    Q, _ = read_xmc(folder / "test.txt.xz")
    Q = Q[:BLOCK]
    clf = SWNNClassifier(25, backend="torch").fit(X, Y)
    units, asked = (matrix(rows) for rows in (X, Q))
    frequent = np.bincount(units.indices, minlength=units.shape[1]) * FREQUENT >= units.shape[0]
    kinds = slice(None), np.flatnonzero(frequent), np.flatnonzero(~frequent)
    whole, head, rest = (Products(units[:, kept], asked[:, kept]) for kept in kinds)
    return {
        "head": int(frequent.sum()),
        "head_share": head.entries / whole.entries,
        "search_ms": measure(lambda: clf.kneighbors(Q)),
        "sparse_ms": measure(whole.sparse),
        "dense_ms": measure(head.dense),
        "rest_ms": measure(rest.sparse),
    }


def matrix(X: Any) -> sp.csr_array:
    rows = quantise_rows(canonical_rows(X))
    parts = rows.quantised.astype(np.float64), rows.indices, rows.indptr
    return sp.csr_array(parts, shape=(rows.n_rows, rows.n_features))


class Products:
    """Rows and queries in some columns, and their dot products and overlaps in two ways."""

    def __init__(self, rows: sp.csr_array, asked: sp.csr_array) -> None:
        self.entries = rows.nnz
        bounds = [(s, min(s + RUN, rows.shape[0])) for s in range(0, rows.shape[0], RUN)]
        self._runs = [rows[first:last] for first, last in bounds]
        self._asked = asked

    def sparse(self) -> None:
        """As `swnn_xp.backends.device.ProductIndex` does it."""
        if not hasattr(self, "_sparse"):
            self._sparse = [(csr(run), csr(ones(run))) for run in self._runs]
        dense, there = factor(self._asked), factor(ones(self._asked))
        for units, has in self._sparse:
            _ = (units @ dense).T.contiguous(), (has @ there).T.contiguous()

    def dense(self) -> None:
        if not hasattr(self, "_dense"):
            arrays = [(run.toarray().astype(np.float32), ones(run).toarray()) for run in self._runs]
            self._dense = [tuple(map(torch.tensor, pair)) for pair in arrays]
        dense, there = factor(self._asked).float().T, factor(ones(self._asked)).T
        for units, has in self._dense:
            _ = dense @ units.T, there @ has.T


def ones(rows: sp.csr_array) -> sp.csr_array:
    there = sp.csr_array(rows)
    there.data = np.ones(there.nnz, np.float32)
    return there


def factor(rows: sp.csr_array) -> torch.Tensor:
    return torch.tensor(rows.toarray().T.copy())


def csr(rows: sp.csr_array) -> torch.Tensor:
    parts = rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data
    made = map(torch.tensor, parts)
    return torch.sparse_csr_tensor(*made, size=rows.shape, check_invariants=False)


def measure(work: Callable[[], Any]) -> float:
    """Milliseconds of CPU time for a query of the block."""
    work()
    best = np.inf
    for _ in range(TURNS):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return 1e3 * best / BLOCK


if __name__ == "__main__":
    sys.exit(main())
