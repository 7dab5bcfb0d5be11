"""Times of single rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from swnn_xp import SWNNClassifier
from swnn_xp.diagnostics.latency import latencies


def measure_queries(
    clf: SWNNClassifier, rows: Any, postings: int | None = None
) -> dict[str, float]:
    """Wall and CPU time; CPU time is what counts on a machine that others use too."""
    latencies(clf, rows[:10], postings=postings)  # what is derived on first use is not a query's
    began = time.process_time()
    times = latencies(clf, rows, postings=postings)
    cpu = (time.process_time() - began) / times.size
    p50, p99 = 1e3 * np.quantile(times, [0.5, 0.99])
    return {
        "query_ms": 1e3 * times.mean(),
        "query_cpu_ms": 1e3 * cpu,
        "query_p50_ms": p50,
        "query_p99_ms": p99,
    }
