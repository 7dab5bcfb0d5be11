"""In a fresh process: open a saved model, memory-mapped, and ask single rows."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from memory import anonymous_gigabytes
from queries import measure_queries
from twin_cache import open_twin

import swnn_xp.backends.numba_  # noqa: F401  opening is measured without importing the library
from swnn_xp import SWNNClassifier


def measure(cache: Path, model: Path) -> dict[str, float]:
    rows = open_twin(cache).X_test[:1000]
    opened = []
    for _ in range(5):
        began = time.perf_counter()
        clf = SWNNClassifier.load(model)
        opened.append(time.perf_counter() - began)
    began = time.perf_counter()
    clf.session().predict_one(rows[[0]].indices, rows[[0]].data)
    first = time.perf_counter() - began
    return {
        "first_open_ms": 1e3 * opened[0],
        "open_ms": 1e3 * min(opened),
        "first_answer_seconds": first,
        **measure_queries(clf, rows),
        "anonymous": anonymous_gigabytes(),
    }


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), Path(sys.argv[2]))))
