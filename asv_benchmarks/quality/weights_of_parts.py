"""Feature weights learned from fewer rows: what they cost and gain. `make bench-weights`.

The published method answers the whole test set with rows as they are, and with rows scaled by
weights that `LearnedWeights` found on a limited number of training rows. With WRITE=1 the figures
go to docs/data/weights.json and the pages.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from problem import Problem
from recorded import record

from swnn_xp import LearnedWeights, SWNNClassifier, metrics

SETS = ("bibtex", "delicious", "citeulike-t", "eurlex57k", "nvd-cpe")
DEFAULT = LearnedWeights().max_rows
ROWS = (0, 2_000, 5_000, DEFAULT)
"""Most rows to learn from; 0 means no weights at all."""


def precision(problem, transform):
    """P@1, 3 and 5 of the published method on transformed rows, in percent."""
    clf = SWNNClassifier().fit(transform(problem.X_train), problem.y_train)
    labels = clf.predict_topk(transform(problem.X_test), k=5).labels
    return {
        f"P@{k}": round(100 * metrics.precision_at_k(problem.y_test, labels, k), 2)
        for k in (1, 3, 5)
    }


def learned(problem, max_rows):
    """The transformer, and the CPU seconds that it took to learn."""
    began = time.process_time()
    weights = LearnedWeights(max_rows=max_rows).fit(problem.X_train, problem.y_train)
    return weights, time.process_time() - began


def figures(problem, dataset, max_rows):
    """A row of docs/data/weights.json."""
    row = {"dataset": dataset, "max_rows": max_rows, "default": max_rows == DEFAULT}
    if not max_rows:
        return row | precision(problem, lambda X: X)
    weights, seconds = learned(problem, max_rows)
    return row | {"train_s": round(seconds, 2)} | precision(problem, weights.transform)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=SETS, metavar="SET", help=" ".join(SETS))
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="most rows to learn from")
    arguments = parser.parse_args()
    print("| data set | `max_rows` | CPU s | P@1 / P@3 / P@5 |\n|---|---|---|---|")
    for dataset in arguments.datasets:
        problem = Problem.load(dataset)
        learned(problem, 100)  # compiles the kernels
        rows = []
        for max_rows in arguments.rows:
            row = figures(problem, dataset, max_rows)
            values = " / ".join(f"{row[f'P@{k}']:.2f}" for k in (1, 3, 5))
            print(f"| {dataset} | {max_rows:,} | {row.get('train_s', '')} | {values} |", flush=True)
            rows.append(row)
        record("weights", rows, ("dataset", "max_rows"))


if __name__ == "__main__":
    main()
