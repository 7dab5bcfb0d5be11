"""What a cap on postings costs and saves: `make bench-caps`.

A ranker that searches exactly, and rankers within caps, trained on all training rows and asked all
test rows, on one thread. A line whose figures exist is skipped, unless ``--again``.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import read, record

from swnn_xp import SWNNRanker, datasets, metrics

SETS = ("bibtex", "delicious", "citeulike-t", "eurlex57k", "nvd-cpe", "finna-yso-en")
ROOT = Path(__file__).resolve().parents[3] / "shared" / "data"
SEARCHES = ("exact", 10_000, 5_000, 2_000)


def figures(data, search):
    """Precision in percent, and CPU seconds of training and of a query."""
    began = time.process_time()
    clf = SWNNRanker(search=search).fit(data.X_train, data.y_train)
    trained = time.process_time()
    clf.predict_topk(data.X_test[:100], k=5)  # what is derived on first use is not a query's
    asked = time.process_time()
    labels = clf.predict_topk(data.X_test, k=5).labels
    each = (time.process_time() - asked) / data.X_test.shape[0]
    counts = np.bincount(data.X_train.indices, minlength=data.X_train.shape[1])
    found = {
        "rows": data.X_train.shape[0],
        "postings": round(float(counts[data.X_test.indices].sum() / data.X_test.shape[0])),
        "train_s": round(trained - began, 1),
        "answer_us": round(1e6 * each, 1),
    }
    return found | {
        f"P@{k}": round(100 * metrics.precision_at_k(data.y_test, labels, k), 2) for k in (1, 3, 5)
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=SETS)
    parser.add_argument("--again", action="store_true", help="measure what has figures, too")
    arguments = parser.parse_args()
    SWNNRanker().fit(np.eye(8), np.eye(8))  # compiles
    for name in arguments.names:
        data = datasets.load(name, root=ROOT)
        for search in SEARCHES:
            done = {(row["dataset"], row["search"]) for row in read("capped")}
            if (name, search) in done and not arguments.again:
                continue
            row = {"dataset": name, "search": search} | figures(data, search)
            print(row, flush=True)
            record("capped", [row], ("dataset", "search"))


if __name__ == "__main__":
    main()
