"""Several threads use and change a new, a loaded and an appended model before anything is cached.

Run by `test_cold.py` in a process of its own: what it looks for are crashes as well as wrong
answers. Many features make arrays that are unmapped as soon as their owner is gone, so that an
address that outlived its owner is noticed.
"""

import sys
import tempfile
import threading
from contextlib import suppress

import numpy as np
import scipy.sparse as sp

from swnn_xp import ModelChangedError, SWNNClassifier, SWNNRanker

THREADS = 4
RNG = np.random.default_rng(7)


def problem(n_rows, n_features):
    rows = sp.random_array((n_rows, 300), density=0.05, rng=RNG, format="coo")
    columns = RNG.permutation(n_features)[:300][rows.coords[1]]
    X = sp.csr_array((rows.data, (rows.coords[0], columns)), (n_rows, n_features))
    return X, (RNG.random((n_rows, 12)) < 0.2).astype(int)


def answers(clf, X):
    """A batch on two threads and single rows, as lists."""
    ranked = clf.predict_topk(X[:60], k=3)
    session = clf.session()
    rows = [X[[i]] for i in range(8)]
    single = [session.predict_one(row.indices, row.data, k=3) for row in rows]
    return [part.tolist() for part in ranked], [[p.tolist() for p in one] for one in single]


def at_once(*calls):
    """What each call returns, all starting together in threads of their own."""
    heard, start = [None] * len(calls), threading.Barrier(len(calls))

    def run(number):
        start.wait()
        heard[number] = calls[number]()

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return heard


def check(kind, X, Y, folder, rounds):
    """Compare a new, a loaded and an appended model with one that answered a single thread."""
    more = X[:50], Y[:50]
    fitted = kind(9, n_jobs=2).fit(X, Y)
    fitted.save(folder)
    known, appended = answers(fitted, X), answers(fitted.partial_fit(*more), X)
    for _ in range(rounds):
        for clf, expected in (
            (kind(9, n_jobs=2).fit(X, Y), known),
            (kind.load(folder, n_jobs=2), known),
            (kind.load(folder, n_jobs=2).partial_fit(*more), appended),
        ):
            heard = at_once(*[lambda clf=clf: answers(clf, X)] * THREADS)
            assert heard == [expected] * THREADS, "threads that start together get other answers"
        check_changes(kind, X, Y, folder, appended)


def check_changes(kind, X, Y, folder, appended):
    """Append, relearn and ask in four threads, on a model just opened."""
    clf = kind.load(folder, n_jobs=2)
    relearned = kind.load(folder, n_jobs=2).partial_fit(X[:50], Y[:50])
    expected = appended if kind is SWNNClassifier else answers(relearned.relearn("all"), X)

    def append():  # by one thread: rows in another order would be another training set
        for at in range(0, 50, 5):
            clf.partial_fit(X[at : at + 5], Y[at : at + 5])
        return True

    def relearn():
        for _ in range(4 if kind is SWNNRanker else 0):
            with suppress(ModelChangedError):  # rows came in between: they are there
                clf.relearn()
        return True

    def ask():
        for _ in range(3):
            labels, scores = (np.asarray(part) for part in answers(clf, X)[0])
            assert labels.max() < Y.shape[1]
            assert np.isfinite(scores).all()
        return True

    done = at_once(append, relearn, ask, ask)
    assert done == [True] * 4, "a thread failed"
    assert clf.n_samples_fit_ == X.shape[0] + 50, "rows were lost"
    if kind is SWNNRanker:
        clf.relearn("all")  # which labels are stale depends on when the others were trained
    assert answers(clf, X) == expected, "changes at once lead to another model"


def main(rounds):
    with tempfile.TemporaryDirectory() as folder:
        check(SWNNClassifier, *problem(3_000, 2_000_000), f"{folder}/published", rounds)
        check(SWNNRanker, *problem(200, 4_000), f"{folder}/ranked", max(1, rounds // 4))
    print("the same answers")


if __name__ == "__main__":
    main(int(sys.argv[1]))
