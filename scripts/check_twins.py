"""Compare the summaries of synthetic twins with the paper's tables.

Usage: python scripts/check_twins.py [NAME ...] [--scale 1] [--seed 0]
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np

from swnn_xp.datasets import PAPER_SUMMARIES, make_twin

TABLES = ("label occurrences", "labels per row", "features per row", "feature occurrences")
COLUMNS = ("min", "Q1", "median", "Q3", "max", "mean")


def counts_of(X: Any, Y: Any) -> list[Any]:
    """Count the four distributions of a training set; columns that do not occur are left out."""
    words = np.bincount(X.indices, minlength=X.shape[1])
    tags = np.bincount(Y.indices, minlength=Y.shape[1])
    return [tags[tags > 0], np.diff(Y.indptr), np.diff(X.indptr), words[words > 0]]


def five_numbers(values: Any) -> list[float]:
    """Minimum, quartiles, maximum, mean."""
    return [*(float(q) for q in np.quantile(values, [0, 0.25, 0.5, 0.75, 1])), float(values.mean())]


def is_close(column: str, paper: float, twin: float) -> bool:
    """Within 15%, the maximum within a factor of 1.5; the minimum is shown only."""
    if column == "max":
        return paper / 1.5 <= twin <= paper * 1.5
    return column == "min" or abs(twin - paper) <= 0.15 * paper


def check(name: str, scale: float, seed: int) -> bool:
    """Print the table of one set; say whether every figure is close enough."""
    start = time.process_time()
    twin = make_twin(name, scale, seed)
    took = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\n## {name}, scale {scale:g}: {twin.X_train.shape[0]} + {twin.X_test.shape[0]} rows, "
          f"{twin.X_train.nnz} entries; {took:.1f} s CPU, peak so far {peak:.2f} GiB")  # fmt: skip
    print("| table | | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 2))
    good = True
    values = counts_of(twin.X_train, twin.y_train)
    for table, paper, found in zip(TABLES, PAPER_SUMMARIES[name], values, strict=True):
        twins = five_numbers(found)
        close = [is_close(*row) for row in zip(COLUMNS, paper, twins, strict=True)]
        good = good and all(close)
        off = [
            f"{(t - p) / p:+.1%}{'' if ok else ' !'}" if p else "-"
            for p, t, ok in zip(paper, twins, close, strict=True)
        ]
        print(f"| {table} | paper | " + " | ".join(f"{p:g}" for p in paper) + " |")
        print("| | twin | " + " | ".join(f"{t:.6g}" for t in twins) + " |")
        print("| | deviation | " + " | ".join(off) + " |", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PAPER_SUMMARIES), metavar="NAME")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    results = [check(name, arguments.scale, arguments.seed) for name in arguments.names]
    print(f"\n{sum(results)} of {len(results)} within 15% (maximum: a factor of 1.5) everywhere")
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
