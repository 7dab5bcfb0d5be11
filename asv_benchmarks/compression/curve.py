"""What a part of the rows is worth: precision and time of a query against the part that is kept.

`make bench-compression`, or with names of data sets under ../shared/data; prints a table for the
page "Fewer rows". The ranker is fitted once as a whole and then compressed; both methods are asked
one row at a time on one thread, and CPU times are the best of three rounds.
"""

from __future__ import annotations

import argparse
import copy
import os
import time
from pathlib import Path

os.environ["SWNN_BACKGROUND_COMPILE"] = "0"  # what is timed is what answers later

import numpy as np

from swnn_xp import SWNNClassifier, SWNNRanker, datasets
from swnn_xp.metrics import precision_at_k

SETS = ("bibtex", "delicious", "citeulike-t", "eurlex57k", "nvd-cpe", "finna-yso-en")
PARTS = (1.0, 0.5, 0.25, 0.1, 0.05)
MOST_QUERIES, TIMED, ROUNDS = 20_000, 300, 3
ROOT = Path(__file__).resolve().parents[3] / "shared" / "data"


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


def line(name, clf, X, Y):
    labels = clf.predict_topk(X, k=5).labels
    values = " / ".join(f"{100 * precision_at_k(Y, labels, k):.2f}" for k in (1, 3, 5))
    return f"| {name} | {clf.n_samples_fit_:,} | {values} | {milliseconds(clf, X):.3f} |"


def curve(name):
    data = datasets.load(name, root=ROOT)
    X, Y = data.X_test[:MOST_QUERIES], data.Y_test[:MOST_QUERIES]
    print(f"\n**{name}**\n\n| method, part | rows | P@1 / 3 / 5 | ms a query |\n|---|---|---|---|")
    for title, whole in (
        ("ranked", SWNNRanker(calibrate=False)),
        ("as published", SWNNClassifier()),
    ):
        whole.fit(data.X_train, data.Y_train)
        for keep in PARTS:
            clf = whole if keep == 1 else copy.deepcopy(whole).compress(keep)
            print(line(f"{title}, {keep:.0%}", clf, X, Y), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=SETS)
    for name in parser.parse_args().names:
        curve(name)


if __name__ == "__main__":
    main()
