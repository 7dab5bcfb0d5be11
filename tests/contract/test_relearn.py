"""Rows come and go; labels are trained again: some of them, or everything to the last bit."""

import numpy as np
import pytest
import scipy.sparse as sp

import swnn_xp

RNG = np.random.default_rng(8)
X = RNG.choice([0.0, 0.0, 0.0, 0.3, 1.0, 2.0], (160, 12))
Y = (X @ (RNG.random((12, 7)) < 0.2) + RNG.random((160, 7)) > 1.7).astype(int)


def learned_arrays(clf):
    arrays, meta = clf.model_.ranking.stored()
    # Ids differ where rows were removed.
    skipped = ("label_rows", "label_next_ids", "neighbour_rows", "neighbours")
    arrays = {name: array for name, array in arrays.items() if name not in skipped}
    return arrays | {"g": clf.feature_weights_}, {k: v for k, v in meta.items() if k != "next_id"}


def check_same_learned(clf, other):
    mine, its = learned_arrays(clf), learned_arrays(other)
    assert mine[1] == its[1]
    for name, array in mine[0].items():
        np.testing.assert_array_equal(array, its[0][name], err_msg=name)


@pytest.mark.parametrize(
    "params", [{}, {"n_neighbors": 9}, {"centroids": True}, {"n_neighbors": 9, "search": 90}]
)
def test_everything_again_is_a_refit(ranker, params, tmp_path):
    clf = ranker(**params).fit(X[:120], Y[:120, :6])
    clf.partial_fit(X[120:150], Y[120:150]).partial_fit(X[150:], Y[150:]).remove([0, 5, 130])
    alive = np.setdiff1d(np.arange(160), [0, 5, 130])
    known = np.where(np.arange(160)[:, None] < 120, Y * (np.arange(7) < 6), Y)
    clf.save(tmp_path / "before")
    clf.relearn("all")
    fresh = ranker(**params).fit(X[alive], known[alive])
    check_same_learned(clf, fresh)
    for mine, its in zip(clf.topk_probabilities(X), fresh.topk_probabilities(X), strict=True):
        np.testing.assert_array_equal(mine, its)
    stale = clf.staleness_
    assert (stale.rows_added, stale.rows_removed, stale.labels.tolist()) == (0, 0, [])
    assert set(clf.kneighbors(X[130:131], 160).ids.ravel().tolist()) <= {-1, *alive.tolist()}
    again = swnn_xp.load(tmp_path / "before").relearn("all")  # from the stored values
    check_same_learned(again, fresh)


@pytest.mark.parametrize(("centroids", "search"), [(False, "exact"), (True, "exact"), (False, 90)])
def test_all_labels_of_unchanged_rows_stay_what_they_are(ranker, centroids, search):
    clf = ranker(n_neighbors=9, centroids=centroids, search=search).fit(X, Y)
    before = learned_arrays(clf)
    clf.relearn(range(7))
    for name, array in learned_arrays(clf)[0].items():
        np.testing.assert_array_equal(array, before[0][name], err_msg=name)


def test_labels_whose_rows_changed(ranker):
    clf = ranker(n_neighbors=9).fit(X[:150], Y[:150, :6])
    before, _ = learned_arrays(clf)
    wide = np.zeros((10, 7), int)
    wide[:, 6] = 1
    lost, gained = np.argsort(-Y[:150, :6].sum(axis=0), kind="stable")[:2].tolist()
    wide[:4, gained] = 1
    clf.partial_fit(X[150:], wide).remove(np.flatnonzero(Y[:150, lost])[:3])
    stale = clf.staleness_
    touched = np.flatnonzero(clf.label_counts_ != [*Y[:150, :6].sum(0), 0]).tolist()
    assert stale.labels.tolist() == touched
    assert {lost, gained, 6} <= set(touched)
    assert (stale.rows_added, stale.rows_removed) == (10, 3)
    added, removed = (dict(zip(touched, part.tolist(), strict=True)) for part in stale[3:])
    assert (added[6], removed[6]) == (10, 0)
    assert (added[gained], removed[lost]) == (4, 3)
    assert 6 in clf.predict_topk(X[150:151], k=7).labels  # by its votes, before any training
    clf.relearn()
    assert clf.staleness_.labels.size == 0
    assert (clf.staleness_.rows_added, clf.staleness_.rows_removed) == (10, 3)
    after, _ = learned_arrays(clf)
    assert after["modelled"][6] == 1
    for label in set(range(6)) - set(touched):
        assert own(after, label) == own(before, label)
    assert any(own(after, label) != own(before, label) for label in touched if label < 6)
    clf.predict_topk(X, k=3)


def own(arrays, label):
    part = slice(arrays["indptr"][label], arrays["indptr"][label + 1])
    found = arrays["features"][part].tolist(), arrays["weights"][part].tolist()
    return *found, int(arrays["biases"][label])


def test_some_labels_by_name_and_bad_ones(ranker):
    names = list("abcdefg")
    clf = ranker(n_neighbors=9).fit(sp.csr_array(X), Y, label_names=names)
    clf.partial_fit(X[:2], np.eye(2, 7)).relearn(["a"])
    assert clf.staleness_.labels.tolist() == [1]
    with pytest.raises(ValueError, match="label"):
        clf.relearn(["z"])
    with pytest.raises(ValueError, match="labels must be 'all'"):
        clf.relearn("a")
