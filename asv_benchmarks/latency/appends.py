"""What single answers and appends cost by the number of rows that were appended one by one.

`make bench-appends`. CPU time on one thread, best of several rounds; with WRITE=1 the figures go to
docs/data/appends.json and to the page on live updates.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import record

from swnn_xp import SWNNClassifier, SWNNRanker, datasets

SETS = ("debtags", "eurlex57k")
ROOT = Path(__file__).resolve().parents[3] / "shared" / "data"
APPENDS = (0, 1, 10, 100, 1000)
QUERIES = 500
ROUNDS = 5


def seconds(job):
    """CPU seconds of a call."""
    began = time.process_time()
    job()
    return time.process_time() - began


def answer_us(session, queries):
    """Mean CPU microseconds of a single answer, of the best round."""

    def ask_all():
        for query in queries:
            session.predict_one(*query)

    return 1e6 * min(seconds(ask_all) for _ in range(ROUNDS)) / len(queries)


def figures(name, data, estimator):
    """A row for each number of appends, and one after `compact`."""
    X, Y, last = data.X_train, data.y_train, data.X_train.shape[0] - APPENDS[-1]
    queries = [(row.indices, row.data) for row in (data.X_test[[i]] for i in range(QUERIES))]
    method = "published" if estimator is SWNNClassifier else "ranking"
    clf = estimator().fit(X[:last], Y[:last])
    session, took, done = clf.session(), [], 0

    def row(n, first_ms):
        told = {"dataset": name, "method": method, "appends": n, "rows": last}
        told |= {"segments": len(clf.model_.segments), "answer_us": answer_us(session, queries)}
        if took:
            told |= {"append_ms": 1e3 * sum(took) / len(took), "longest_ms": 1e3 * max(took)}
        return told | {"first_ms": first_ms}

    for n in APPENDS:
        while done < n:
            new = [last + done]
            took.append(seconds(lambda new=new: clf.partial_fit(X[new], Y[new])))
            done += 1
        yield row(n, 1e3 * seconds(lambda: session.predict_one(*queries[0])))
    took = [seconds(clf.compact)]
    yield row("compact", 1e3 * seconds(lambda: session.predict_one(*queries[0])))


def warm_up():
    """Compile what appending and answering take, so that it does not count."""
    data = datasets.load("debtags")
    clf = SWNNClassifier().fit(data.X_train[:50], data.y_train[:50])
    for i in range(50, 70):
        clf.partial_fit(data.X_train[[i]], data.y_train[[i]])
        clf.session().predict_one([0], [1.0])
    clf.compact()


def main():
    warm_up()
    for name in sys.argv[1:] or SETS:
        data = datasets.load(name, root=None if name == "debtags" else ROOT)
        for estimator in (SWNNClassifier, SWNNRanker):
            rows = []
            for row in figures(name, data, estimator):
                rows.append(row)
                print(row, flush=True)
            record("appends", rows, ("dataset", "method", "appends"))


if __name__ == "__main__":
    main()
