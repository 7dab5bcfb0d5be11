"""In a fresh process: map the cached twin, build the index, ask single rows, save the model."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from memory import anonymous_gigabytes, peak_gigabytes
from queries import measure_queries
from twin_cache import open_twin

from swnn_xp import SWNNClassifier

_POSTINGS = 5_000


def measure(cache: Path, model: Path) -> dict[str, float]:
    began = time.perf_counter()
    began_cpu = time.process_time()
    twin = open_twin(cache)
    clf = SWNNClassifier(75, 2.0, 1.0).fit(twin.X_train, twin.y_train)
    built = time.perf_counter()
    figures = {
        "build_seconds": built - began,
        "build_cpu_seconds": time.process_time() - began_cpu,
        "build_peak": peak_gigabytes(),
        "index_gigabytes": sum(a.nbytes for a in clf.model_.segments[0].arrays().values()) / 1e9,
        "anonymous_after_build": anonymous_gigabytes(),
        "rows": clf.n_samples_fit_,
        "nonzeros": int(twin.X_train.nnz),
        "labels": clf.n_labels_,
    }
    figures |= measure_queries(clf, twin.X_test[:1000])
    figures["query_peak"] = peak_gigabytes()
    capped = measure_queries(clf, twin.X_test[:1000], _POSTINGS)
    figures |= {f"capped_{name}": value for name, value in capped.items()}
    figures["capped_peak"] = peak_gigabytes()
    began = time.perf_counter()
    clf.save(model)
    figures["save_seconds"] = time.perf_counter() - began
    files = [path for path in model.rglob("*") if path.is_file()]
    figures["model_gigabytes"] = sum(path.stat().st_size for path in files) / 1e9
    return figures


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), Path(sys.argv[2]))))
