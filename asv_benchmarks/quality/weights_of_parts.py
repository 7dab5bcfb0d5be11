"""Feature weights learned from fewer rows: what they cost and gain. `make bench-weights`.

The published method answers the whole test set with rows as they are, and with rows scaled by
weights that `LearnedWeights` found on a limited number of training rows.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from problem import Problem

from swnn_xp import LearnedWeights, SWNNClassifier, metrics

SETS = ("bibtex", "delicious", "citeulike-t", "eurlex57k", "nvd-cpe")
ROWS = (2_000, 5_000, 10_000, 125_000)


def precision(problem, transform):
    """P@1, 3 and 5 of the published method on transformed rows, in percent."""
    clf = SWNNClassifier().fit(transform(problem.X_train), problem.Y_train)
    labels = clf.predict_topk(transform(problem.X_test), k=5).labels
    return [100 * metrics.precision_at_k(problem.Y_test, labels, k) for k in (1, 3, 5)]


def learned(problem, max_rows):
    """The transformer, and the CPU seconds that it took to learn."""
    began = time.process_time()
    weights = LearnedWeights(max_rows=max_rows).fit(problem.X_train, problem.Y_train)
    return weights, time.process_time() - began


def show(dataset, rows, seconds, found):
    precisions = " / ".join(f"{value:.2f}" for value in found)
    print(f"| {dataset} | {rows} | {seconds} | {precisions} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=SETS, metavar="SET", help=" ".join(SETS))
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="most rows to learn from")
    arguments = parser.parse_args()
    print("| data set | `max_rows` | CPU s | P@1 / 3 / 5 |\n|---|---|---|---|")
    for dataset in arguments.datasets:
        problem = Problem.load(dataset)
        learned(problem, 100)  # compiles the kernels
        show(dataset, "not weighted", "", precision(problem, lambda X: X))
        for max_rows in arguments.rows:
            weights, seconds = learned(problem, max_rows)
            show(dataset, f"{max_rows:,}", f"{seconds:.1f}", precision(problem, weights.transform))


if __name__ == "__main__":
    main()
