"""In a fresh process: map the cached twin, train a ranker on it, and rank test rows."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from memory import peak_gigabytes
from twin_cache import open_twin

from swnn_xp import SWNNRanker
from swnn_xp.metrics import precision_at_k

_TEST_ROWS = 1000


def measure(cache: Path, memory_budget: int, search: str) -> dict[str, float | str]:
    twin = open_twin(cache)
    began, began_cpu = time.perf_counter(), time.process_time()
    how: Any = int(search) if search.isdecimal() else search
    clf = SWNNRanker(memory_budget=memory_budget, search=how).fit(twin.X_train, twin.y_train)
    figures: dict[str, float | str] = {
        "train_seconds": time.perf_counter() - began,
        "train_cpu_seconds": time.process_time() - began_cpu,
        "train_peak": peak_gigabytes(),
        "rows": clf.n_samples_fit_,
        "labels": clf.n_labels_,
        "weights": int(clf.model_.ranking.ranker.weights.size),
        "neighbours": clf.n_neighbors_,
        "candidates": clf.n_candidates_,
        "recall": clf.candidate_recall_,
        "search": clf.search_,
    }
    ranked = clf.predict_topk(twin.X_test[:_TEST_ROWS]).labels
    figures["p1"] = 100 * precision_at_k(twin.y_test[:_TEST_ROWS], ranked, k=1)
    return figures


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
