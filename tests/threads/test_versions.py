"""Eight threads ask while another changes the model: every answer is that of one version."""

import copy
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier

THREADS, CHANGES = 8, 40
RNG = np.random.default_rng(4)
X = sp.random_array((900, 60), density=0.15, rng=RNG, format="csr")
Y = sp.random_array((900, 20), density=0.1, rng=RNG, format="csr") != 0
QUERIES = [X[[i]] for i in range(7, 700, 70)]


def plain(answer):
    """Arrays of an answer, to compare."""
    if sp.issparse(answer):
        return answer.shape, answer.indptr.tolist(), answer.indices.tolist(), answer.data.tolist()
    return [part.tolist() for part in answer]


CALLS = {
    "kneighbors": lambda clf, x: plain(clf.kneighbors(x)),
    "predict_topk": lambda clf, x: plain(clf.predict_topk(x, k=4)),
    "predict_proba": lambda clf, x: plain(clf.predict_proba(x)),
    "explain": lambda clf, x: str(clf.explain(x, 3)),
}


def ask(clf, number, heard, stop, start):
    """Ask in turn, and note the versions before and after each answer."""
    session = clf.session() if clf.backend == "numba" else None
    start.wait()
    while True:
        call = [*CALLS, "session"][number % 5]
        query = QUERIES[number % len(QUERIES)]
        first = clf.model_.version
        if call != "session":
            answer = CALLS[call](clf, query)
        elif session is not None:
            answer = plain(session.predict_one(query.indices, query.data, k=4))
        else:
            answer = None
        heard.append((call, number % len(QUERIES), first, clf.model_.version, answer))
        number += 1
        if stop.is_set():
            return


def change(clf, models):
    """Append, remove and compact in turn; labels grow in number now and then."""
    for step in range(CHANGES):
        if step % 4 == 3:
            clf.compact()
        elif step % 4 == 2:
            alive = np.setdiff1d(np.arange(clf.model_.next_id), clf.missing)
            gone = alive[:: max(1, alive.size // 9)]
            clf.missing = np.union1d(clf.missing, gone)
            clf.remove(gone)
        else:
            rows = slice(200 + 13 * step, 213 + 13 * step)
            labels = sp.csr_array(Y[rows], shape=(13, 20))
            labels.resize((13, 20 + step))
            clf.partial_fit(X[rows], labels)
        models[clf.model_.version] = clf.model_


def answers_of(clf, model, call, query):
    """What one version answers, asked alone."""
    alone = copy.copy(clf)
    alone._model = model
    if call == "session":
        return plain(alone.session().predict_one(query.indices, query.data, k=4))
    return CALLS[call](alone, query)


@pytest.mark.parametrize("backend", ["numba", "numpy"])
def test_every_answer_is_that_of_one_version(backend):
    clf = SWNNClassifier(n_neighbors=9, backend=backend).fit(X[:200], Y[:200])
    clf.missing = np.zeros(0, int)
    for call in CALLS:  # compiled before the clock of versions starts
        CALLS[call](clf, QUERIES[0])
    models, stop, start = {0: clf.model_}, threading.Event(), threading.Barrier(THREADS + 1)
    heard = [[] for _ in range(THREADS)]
    threads = [
        threading.Thread(target=ask, args=(clf, 3 * i, heard[i], stop, start))
        for i in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    start.wait()
    try:
        change(clf, models)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(models) == CHANGES + 1
    assert all(heard)
    known = {}
    for call, place, first, last, answer in (item for items in heard for item in items):
        if answer is None:
            continue
        for version in range(first, last + 1):
            key = call, place, version
            if key not in known:
                known[key] = answers_of(clf, models[version], call, QUERIES[place])
        assert any(answer == known[call, place, v] for v in range(first, last + 1)), (call, first)
    if backend == "numba":
        assert sum(map(len, heard)) > THREADS
