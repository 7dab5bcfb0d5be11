"""In a fresh process: map the cached twin, train a ranker on it, and rank test rows."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from memory import peak_gigabytes
from twin_cache import open_twin

from swnn_xp import SWNNRanker
from swnn_xp.metrics import precision_at_k

_TEST_ROWS = 1000


def measure(cache: Path, memory_budget: int) -> dict[str, float]:
    twin = open_twin(cache)
    began, began_cpu = time.perf_counter(), time.process_time()
    clf = SWNNRanker(memory_budget=memory_budget).fit(twin.X_train, twin.y_train)
    figures = {
        "train_seconds": time.perf_counter() - began,
        "train_cpu_seconds": time.process_time() - began_cpu,
        "train_peak": peak_gigabytes(),
        "rows": clf.n_samples_fit_,
        "labels": clf.n_labels_,
        "weights": int(clf.model_.ranking.ranker.weights.size),
        "neighbours": clf.n_neighbors_,
        "candidates": clf.n_candidates_,
        "recall": clf.candidate_recall_,
    }
    ranked = clf.predict_topk(twin.X_test[:_TEST_ROWS]).labels
    figures["p1"] = 100 * precision_at_k(twin.y_test[:_TEST_ROWS], ranked, k=1)
    return figures


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]))))
