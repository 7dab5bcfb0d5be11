"""What a part of the rows is worth: precision and time of a query against the part that is kept.

`make bench-compression`, or with names of data sets under ../shared/data. The ranker is fitted once
as a whole and then compressed; both methods are asked one row at a time on one thread, and CPU
times are the best of three rounds. What docs/data/compression.json already holds is not measured
again, so a run can be stopped and resumed.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))

import numpy as np
from report import machine
from results import Results

from swnn_xp import SWNNClassifier, SWNNRanker, datasets
from swnn_xp.metrics import precision_at_k

HERE = Path(__file__).resolve().parent
SETS = ("bibtex", "delicious", "citeulike-t", "eurlex57k", "nvd-cpe", "finna-yso-en")
PARTS = (1.0, 0.5, 0.25, 0.1, 0.05)
TIMED, ROUNDS = 300, 3
ROOT = HERE.parents[2] / "shared" / "data"
FILE = HERE.parents[1] / "docs" / "data" / "compression.json"
METHODS = {"ranked": SWNNRanker(calibrate=False), "as published": SWNNClassifier()}


def milliseconds(clf, X):
    """Mean CPU time of a single answer."""
    session = clf.session()
    rows = [(X[[i]].indices, X[[i]].data) for i in range(min(TIMED, X.shape[0]))]
    session.predict_one(*max(rows, key=lambda row: row[0].size))  # makes all buffers
    best = np.full(len(rows), np.inf)
    for _ in range(ROUNDS):
        for i, row in enumerate(rows):
            started = time.thread_time_ns()
            session.predict_one(*row)
            best[i] = min(best[i], time.thread_time_ns() - started)
    return best.mean() / 1e6


def measured(clf, X, Y):
    """Figures of one model."""
    labels = clf.predict_topk(X, k=5).labels
    found = {f"P@{k}": round(100 * precision_at_k(Y, labels, k), 2) for k in (1, 3, 5)}
    found |= {"ms": round(milliseconds(clf, X), 4), "rows": clf.n_samples_fit_}
    return found | {"test_rows": X.shape[0], "S": getattr(clf, "n_neighbors_", clf.n_neighbors)}


def measure(name, results, again):
    """Measure what is missing of a data set."""
    data = datasets.load(name, root=ROOT)
    X, Y = data.X_test, data.y_test
    for method, clf in METHODS.items():
        wanted = [keep for keep in PARTS if again or (name, method, keep) not in results.rows]
        whole = clf.fit(data.X_train, data.y_train) if wanted else None
        for keep in wanted:
            clf = whole if keep == 1 else copy.deepcopy(whole).compress(keep)
            row = {"dataset": name, "method": method, "keep": keep}
            row |= {"date": datetime.date.today().isoformat(), "machine": machine()}
            results.put(row | measured(clf, X, Y))
            print(f"{name} {method} {keep:.0%}: done", file=sys.stderr, flush=True)


def table(results, name):
    """The curve of a data set: a line for each part, both methods side by side."""
    heads = [f"{method}: {what}" for method in METHODS for what in ("P@1 / 3 / 5", "ms")]
    lines = [f"| part kept | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for keep in PARTS:
        cells = [c for m in METHODS for c in _cells(results.rows.get((name, m, keep)))]
        lines.append(f"| {keep:.0%} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(row):
    if row is None:
        return "", ""
    return " / ".join(f"{row[f'P@{k}']:.2f}" for k in (1, 3, 5)), f"{row['ms']:.3f}"


def curves(results):
    """All tables, as the page shows them."""
    parts = []
    for name in SETS:
        here = [row for key, row in results.rows.items() if key[0] == name]
        if here:
            about = f"{max(row['rows'] for row in here):,} rows, {here[0]['test_rows']:,} test rows"
            parts.append(f"**{name}**, {about}:\n\n{table(results, name)}")
    return "\n\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=SETS)
    parser.add_argument("--again", action="store_true", help="measure what was measured before")
    parser.add_argument("--json", type=Path, default=FILE, help="the file of figures")
    parser.add_argument("--measured", action="store_true", help="measure nothing, use the file")
    arguments = parser.parse_args()
    results = Results(arguments.json, ("dataset", "method", "keep"))
    for name in () if arguments.measured else arguments.names:
        measure(name, results, arguments.again)
    print(curves(results))


if __name__ == "__main__":
    main()
