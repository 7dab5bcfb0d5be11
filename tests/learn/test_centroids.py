"""Label centroids: what they list for a row is what they would list if it were not there."""

import numpy as np
import pytest
import scipy.sparse as sp
from learn.problems import digest, rows_and_labels

from swnn_kernels.learn.evidence import Evidence, SourceShape, join_evidence
from swnn_xp import SWNNRanker
from swnn_xp.backends import get_backend
from swnn_xp.backends.index import Options, host_search
from swnn_xp.learn import centroids
from swnn_xp.learn.candidates import bins_of, copy_numbers, fit_vote_score
from swnn_xp.learn.evidence import TrainingRows
from swnn_xp.rows.canonical import canonical_rows, label_rows, quantise_rows
from swnn_xp.rows.records import take_rows

X, Y = rows_and_labels()


def index(rows):
    kind = get_backend("numba").load()
    placement = kind.placement.find("numba")
    return host_search(kind.build(rows, placement), placement, Options())


@pytest.mark.parametrize("values", [[0, 0, 0, 1.0, 2.0], [0, 0, -1.0, 1.0, 2.0]])
@pytest.mark.parametrize("n_kept", [3, 5, 200])
def test_as_if_made_without_the_row_and_its_copies(values, n_kept, monkeypatch):
    monkeypatch.setattr(centroids, "N_KEPT", n_kept)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 60))
        X, Y = rng.choice(values, (n, 12)), (rng.random((n, 7)) < 0.3).astype(int)
        X[n // 2], Y[n // 2] = X[0], Y[0]
        rows, labels = quantise_rows(canonical_rows(X)), label_rows(Y)
        copies = copy_numbers(rows, labels)
        given = TrainingRows(rows, rows, labels, copies, index)
        mine = centroids.training_centroids(given, scaled=False, n_listed=4)
        listed, bins = mine.leave_one_out(np.arange(n))
        for i in range(n):
            others = np.flatnonzero(copies != copies[i])
            sums = centroids.label_sums(take_rows(rows, others), take_rows(labels, others))
            search = index(centroids.centroids_of(sums, 12))
            cosines, ids = search(take_rows(rows, np.asarray([i])), 4, 0.0)
            assert listed[i].tolist() == ids[0].tolist()
            assert bins[i, :, 0].tolist() == bins_of(cosines)[0].tolist()
            places = [place if label >= 0 else 0 for place, label in enumerate(ids[0], 1)]
            assert bins[i, :, 1].tolist() == places


def test_labels_that_no_neighbour_has():
    clf = SWNNRanker(n_neighbors=1, n_candidates=1, centroids=True, learn_weights=False)
    clf.fit(X, Y)
    other = SWNNRanker(n_neighbors=1, n_candidates=1, learn_weights=False).fit(X, Y)
    assert clf.centroids_
    assert not other.centroids_
    mine, its = clf.predict_topk(X, k=7).labels, other.predict_topk(X, k=7).labels
    assert (mine >= 0).sum() > (its >= 0).sum()
    assert all(set(b[b >= 0]) <= set(a) for a, b in zip(mine, its, strict=True))


def test_sessions_and_every_state_of_a_model(tmp_path):
    clf = SWNNRanker(n_neighbors=5, n_candidates=3, centroids=True).fit(X[:60], Y[:60])
    session = clf.session()
    wider = np.hstack([Y[60:70], np.ones((10, 1), int)])
    for change in (
        lambda: None,
        lambda: clf.partial_fit(X[60:70], wider),
        lambda: clf.remove([1, 61]),
        lambda: clf.compact(),
        lambda: clf.relearn(),
        lambda: clf.compress(0.5),
    ):
        change()
        labels, scores = clf.predict_topk(X, k=6)
        for i, row in enumerate(X):
            found = session.predict_one(np.flatnonzero(row), row[row != 0], k=6)
            assert found.labels.tolist() == labels[i].tolist()
            assert found.scores.tolist() == scores[i].tolist()
    assert clf.centroids_


def test_new_labels_have_a_centroid_once_they_are_learned():
    clf = SWNNRanker(n_neighbors=5, centroids=True).fit(X[:60], Y[:60])
    clf.partial_fit(X[60:70], np.hstack([Y[60:70], np.ones((10, 1), int)]))
    (known,) = clf.model_.ranking.sources
    assert known.rows.n_rows == 7
    (known,) = clf.relearn([7]).model_.ranking.sources
    assert known.rows.n_rows == 8
    assert known.rows.indptr[8] > known.rows.indptr[7]


def test_damaged_centroids_are_refused(tmp_path):
    clf = SWNNRanker(n_neighbors=5, centroids=True).fit(X, Y)
    (source,) = clf.model_.ranking.sources
    source.rows.indices[0] = 99
    with pytest.raises(ValueError, match="indices must lie in"):
        source.check()


def test_evidence_must_have_the_shape_of_its_source():
    one = Evidence(np.asarray([[5]], np.int32), np.zeros((1, 1, 1), np.uint16))
    assert join_evidence([one], [SourceShape(6, 1, (0,))], 1).labels.tolist() == [5]
    with pytest.raises(ValueError, match="lists labels outside"):
        join_evidence([one], [SourceShape(5, 1, (0,))], 1)
    with pytest.raises(ValueError, match="evidence has shapes"):
        join_evidence([one], [SourceShape(6, 2, (0,))], 1)
    with pytest.raises(ValueError, match="evidence has shapes"):
        join_evidence([one], [], 1)


def test_categories_have_a_value_each():
    rng = np.random.default_rng(0)
    bins = np.stack([np.full(400, 600), rng.integers(0, 3, 400)], axis=1).astype(np.uint16)
    right = (bins[:, 1] == 1).astype(np.uint8)
    score = fit_vote_score(bins, right, (3,)).values
    assert score[1, 0] == 0
    assert score[1, 1] > 1 > abs(score[1, 2])


def noisy_rows(n_rows, n_topics=100):
    """Rows with a word of their topic, which is the label, and many words at random."""
    rng = np.random.default_rng(3)
    topic = rng.integers(0, n_topics, n_rows)
    X = np.zeros((n_rows, n_topics + 30))
    X[np.arange(n_rows), topic] = 1
    X[:, n_topics:] = rng.random((n_rows, 30)) < 0.3
    return sp.csr_array(X), topic


@pytest.mark.parametrize(
    ("n_rows", "n_neighbors", "used"), [(1500, 1, True), (1500, 30, False), (900, 1, False)]
)
def test_used_only_where_held_out_rows_gain_clearly(n_rows, n_neighbors, used):
    """One neighbour is mostly of another topic; among 30 there is one of the same."""
    X, topic = noisy_rows(n_rows, 100 if used or n_rows < 1000 else 5)
    params = {"n_neighbors": n_neighbors, "n_candidates": 5, "learn_weights": False}
    clf = SWNNRanker(**params).fit(X, topic)
    assert clf.centroids_ == used
    same = SWNNRanker(**params, centroids=used).fit(X, topic)
    assert digest(clf) == digest(same)


def test_not_tried_where_they_take_much_memory(monkeypatch):
    X, topic = noisy_rows(1500)
    params = {"n_neighbors": 1, "n_candidates": 5, "learn_weights": False}
    monkeypatch.setattr("swnn_xp.learn.train.MOST_SUMMED", X.nnz - 1)
    clf = SWNNRanker(**params).fit(X, topic)
    assert not clf.centroids_
    assert digest(clf) == digest(SWNNRanker(**params, centroids=False).fit(X, topic))
    assert SWNNRanker(**params, centroids=True).fit(X, topic).centroids_
    monkeypatch.setattr("swnn_xp.learn.train.MOST_SUMMED", X.nnz)
    assert SWNNRanker(**params).fit(X, topic).centroids_


def test_compressing_keeps_what_was_chosen():
    X, topic = noisy_rows(1200)
    clf = SWNNRanker(n_neighbors=1, n_candidates=5, learn_weights=False).fit(X, topic)
    assert clf.centroids_
    assert clf.compress(0.5).centroids_
    clf = SWNNRanker(centroids=False, learn_weights=False).fit(X, topic)
    assert not clf.set_params(centroids="auto").fit(X[:500], topic[:500]).compress(0.5).centroids_


def test_centroids_is_a_flag_or_auto():
    with pytest.raises(ValueError, match="centroids must be"):
        SWNNRanker(centroids="yes").fit(X, Y)
