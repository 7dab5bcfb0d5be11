"""Neighbours that are kept and brought up to date: those that a search of everything finds."""

from dataclasses import replace

import numpy as np
import pytest
from learn.problems import digest, rows_and_labels

import swnn_xp
from swnn_kernels.learn.known_neighbours import mark_near, similarities
from swnn_kernels.records import QuantisedRows
from swnn_xp import SWNNRanker
from swnn_xp.learn import neighbours as known_neighbours
from swnn_xp.learn.neighbours import KnownNeighbours, refresh_neighbours
from swnn_xp.results import Neighbours
from swnn_xp.rows.canonical import canonical_rows, quantise_rows

X, Y = rows_and_labels(150, 20, 12, seed=3)
X[1], X[2] = 0, X[0]  # a row without features, and a copy


def forgetful(clf):
    """The same ranker without the neighbours of its rows: relearning searches all of them."""
    other = SWNNRanker(**clf.get_params())
    model = clf.model_
    other._model = replace(model, ranking=replace(model.ranking, known=None))
    return other


def brute_force(clf, width):
    """Neighbours by position, one row at a time, from similarities of all pairs."""
    model = clf.model_
    rows, n = model.rows(), model.n_positions
    there = np.ones(n, bool) if model.removed is None else ~model.removed
    found = np.full((n, width), -1, np.int32)
    for row in np.flatnonzero(there):
        query = dict(zip(*entries(rows, row), strict=True))
        sims = [similar(query, dict(zip(*entries(rows, other), strict=True))) for other in range(n)]
        order = [
            i for i in np.lexsort((np.arange(n), -np.asarray(sims))) if there[i] and sims[i] > 0
        ]
        found[row, : len(order[:width])] = order[:width]
    return found


def entries(rows, row):
    part = slice(rows.indptr[row], rows.indptr[row + 1])
    return rows.indices[part].tolist(), rows.quantised[part].tolist()


def similar(a, b):
    both = a.keys() & b.keys()
    if not both:
        return 0.0
    cos = float(sum(a[f] * b[f] for f in both)) * 2.0**-46
    return cos * (len(both) / (len(a) + len(b) - len(both)))


def fitted(**params):
    return SWNNRanker(n_neighbors=6, **params).fit(X[:140], Y[:140])


def small(n):
    return SWNNRanker(n_neighbors=20).fit(X[:n], Y[:n])


def added(clf, first, last):
    return clf.partial_fit(X[first:last], Y[first:last])


HISTORIES = {
    "unchanged": fitted,
    "added": lambda: added(fitted(), 140, 143),
    "copies added": lambda: fitted().partial_fit(X[[0, 0, 1]], Y[[0, 5, 1]]),
    "removed": lambda: fitted().remove([0, 7, 70]),
    "both": lambda: added(fitted().remove([3, 4]), 140, 145).remove([139, 141]),
    "compacted": lambda: added(fitted().remove([3, 4]).compact(), 140, 145),
    "relearned": lambda: added(fitted().remove([3]).relearn().compact(), 140, 150),
    "all again": lambda: added(fitted().remove([3]).relearn("all").remove([9]), 3, 5),
    "cosine": lambda: added(fitted(beta=0.0), 140, 143).remove([8]),
    "few rows": lambda: added(small(12), 12, 30),
    "fewer rows": lambda: small(24).remove(range(9)).compact(),
}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(known_neighbours, "_AT_ONCE", 100)


@pytest.mark.parametrize("name", HISTORIES)
def test_labels_are_trained_as_if_all_rows_were_searched(name):
    clf = HISTORIES[name]()
    for labels in ([2], [0, 5, 11], clf.staleness_.labels, range(12)):
        labels = list(labels) or [1]
        slow = forgetful(clf).relearn(labels)
        assert digest(clf.relearn(labels)) == digest(slow), (name, labels)


@pytest.mark.parametrize("name", [name for name in HISTORIES if name != "cosine"])
def test_neighbours_are_those_of_all_pairs(name):
    clf, searched = HISTORIES[name](), []
    model = clf.model_
    width = model.n_voters(model.ranking.selection.cuts[-1] + 1)
    right = brute_force(clf, width)

    def search(asked):
        searched.append(asked.size)
        yield asked, Neighbours(None, right[asked])

    found = refresh_neighbours(model, model.ranking.known, model.rows(), width, search)
    np.testing.assert_array_equal(found, right, err_msg=name)
    if name in ("unchanged", "added", "removed", "both"):
        assert searched[0] < model.n_rows * 0.8


def test_saved_and_loaded(tmp_path):
    clf = SWNNRanker(n_neighbors=6).fit(X[:140], Y[:140]).remove([5])
    clf.save(tmp_path)
    again = swnn_xp.load(tmp_path)
    for one in (clf, again):
        one.partial_fit(X[140:], Y[140:]).relearn()
    assert digest(again) == digest(clf)


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 2.0])
def test_similarities(beta):
    rows = quantise_rows(canonical_rows(X[:40], "X"))
    clf = SWNNRanker(n_neighbors=6, beta=beta, learn_weights=False).fit(X[:40], Y[:40])
    sims, ids = clf.kneighbors(X[:40], 9)
    found = similarities(rows, np.arange(40), ids, beta)
    np.testing.assert_array_equal(found, sims)
    least = np.where(ids[:, 8] >= 0, sims[:, 8], np.inf)
    near = mark_near(rows, quantise_rows(canonical_rows(X[40:45], "X")), least, beta)
    to_new = SWNNRanker(n_neighbors=5, beta=beta, learn_weights=False).fit(X[40:45], Y[40:45])
    best = to_new.kneighbors(X[:40], 1).similarities[:, 0]
    np.testing.assert_array_equal(near, (best > 0) & (best >= least))


def test_rows_of_other_types_are_converted():
    """The kernels read copies, which must live until they return."""
    rows, new = (quantise_rows(canonical_rows(part, "X")) for part in (X[:40], X[40:80]))
    wide = [QuantisedRows(*(part.astype(np.int64) for part in one[:3]), 20) for one in (rows, new)]
    ids, least = np.arange(40)[::-1, None], np.linspace(0, 1, 40)
    near = mark_near(rows, new, least, 1.0)
    assert 0 < near.sum() < 40
    np.testing.assert_array_equal(mark_near(*wide, least, 1.0), near)
    found = (similarities(one, np.arange(40), ids, 1.0) for one in (rows, wide[0]))
    np.testing.assert_array_equal(*found)


def test_rows_out_of_range():
    rows = quantise_rows(canonical_rows(X[:3], "X"))
    for of, ids in (([3], [[0]]), ([0], [[3]]), ([0], [[-2]]), ([-1], [[0]])):
        with pytest.raises(ValueError, match="rows must lie in"):
            similarities(rows, np.asarray(of), np.asarray(ids), 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda k: k._replace(rows=k.rows.astype(np.int32)), "must be int64"),
        (lambda k: k._replace(rows=k.rows[:-1]), "one line for each"),
        (lambda k: k._replace(neighbours=k.neighbours[:, :0]), "one line for each"),
        (lambda k: k._replace(neighbours=k.neighbours.reshape(-1)), "one line for each"),
        (lambda k: k._replace(rows=k.rows[::-1].copy()), "ascend"),
        (lambda k: k._replace(rows=k.rows - 1), "ascend"),
        (lambda k: k._replace(rows=k.rows + 2**31), "ascend"),
        (lambda k: k._replace(neighbours=k.neighbours - 1), "ids of rows, or -1"),
    ],
)
def test_forged_neighbours_are_refused_when_needed(change, message):
    clf = SWNNRanker(n_neighbors=6).fit(X, Y)
    learned = clf.model_.ranking
    clf._model = replace(clf.model_, ranking=replace(learned, known=change(learned.known)))
    clf.predict_topk(X[:2])
    with pytest.raises(ValueError, match=message):
        clf.relearn([0])


def test_neighbours_that_never_were_are_searched():
    clf = SWNNRanker(n_neighbors=6).fit(X, Y)
    learned, slow = clf.model_.ranking, forgetful(clf)
    wild = np.where(np.arange(150)[:, None] % 2, 2**31 - 1, learned.known.neighbours)
    known = KnownNeighbours(learned.known.rows, wild.astype(np.int32))
    clf._model = replace(clf.model_, ranking=replace(learned, known=known))
    assert digest(clf.relearn([0, 1])) == digest(slow.relearn([0, 1]))
