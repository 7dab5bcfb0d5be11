"""Sizes at the edges of number types, on every backend."""

import numpy as np
import oracle
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier

X = np.array([[1.0, 2, 0, 0], [0, 1, 1, 0], [3, 0, 0, 0.5], [0, 0, 0, 0]])
Y = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize("S", [4, 5, 2**31, 2**40])
def test_more_neighbours_than_rows(classifier, S):
    """A regression: places were made for all S neighbours, whatever the number of rows."""
    clf = classifier(n_neighbors=S).fit(X, Y)
    labels, scores = clf.predict_topk(X, k=3)
    for row, query in enumerate(X):
        best = oracle.topk(X, Y, query, S, 1, 1, 3)
        found = [pair for pair in zip(labels[row], scores[row], strict=True) if pair[0] >= 0]
        assert found == best
    assert clf.predict_proba(X).shape == (4, 3)
    assert len(clf.explain(X[0], 0).voters) == 2
    assert clf.kneighbors(X, n_neighbors=4).ids[0].tolist() == [0, 1, 2, -1]


@pytest.mark.parametrize("k", [4, 1000])
def test_more_labels_wanted_than_there_are(classifier, k):
    clf = classifier(n_neighbors=2).fit(X, Y)
    few, many = clf.topk_probabilities(X, k=3), clf.topk_probabilities(X, k=k)
    for mine, its, empty in zip(few, many, (-1, 0, 0), strict=True):
        assert its.shape == (4, k)
        np.testing.assert_array_equal(its[:, :3], mine)
        assert (its[:, 3:] == empty).all()
    for mine, its in zip(clf.predict_topk(X, k=k), many[:2], strict=True):
        np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("pointer_type", [np.int32, np.int64])
def test_index_types_of_the_input(classifier, index_type, pointer_type):
    parts = sp.csr_array(X)
    other = sp.csr_array(parts.shape)
    other.data, other.indices = parts.data, parts.indices.astype(index_type)
    other.indptr = parts.indptr.astype(pointer_type)
    one, two = classifier(n_neighbors=2).fit(X, Y), classifier(n_neighbors=2).fit(other, Y)
    for mine, its in zip(one.predict_topk(X, 2), two.predict_topk(other, 2), strict=True):
        np.testing.assert_array_equal(mine, its)


def test_ten_million_labels(classifier):
    wide = 10_000_000
    ids = np.array([0, wide - 1, 2**23 + 1, wide - 2])
    labels = sp.csr_array((np.ones(4), ids, [0, 2, 3, 4, 4]), shape=(4, wide))
    clf = classifier(n_neighbors=2).fit(X, labels)
    best = clf.predict_topk(X, k=3).labels
    assert best[0].tolist() == [0, wide - 1, 2**23 + 1]
    assert best[2].tolist() == [wide - 2, 0, wide - 1]
    likely = clf.predict_proba(X[:1])
    assert likely.shape == (1, wide)
    assert likely[0, wide - 1] == likely[0, 0] > likely[0, 2**23 + 1] > 0


def test_rows_and_queries_of_100_000_features(classifier):
    """Overlaps around 2**16, exact: all values are equal, so similarities follow from counts."""
    counts = [100_000, 65_535, 65_536, 65_537, 7]
    indices = np.concatenate([np.arange(count) for count in counts])
    rows = sp.csr_array((np.ones(indices.size), indices, np.cumsum([0, *counts])))
    sims, ids = classifier(n_neighbors=5).fit(rows, np.eye(5)).kneighbors(rows[[0, 2]])

    def unit(count):
        return int(np.rint(2.0**22 / np.sqrt(count * 2.0**44) * 2.0**23))

    for place, m in enumerate([counts[0], counts[2]]):
        expected = {}
        for row, n in enumerate(counts):
            c = min(m, n)
            cos = c * unit(m) * unit(n) * 2.0**-46
            expected[row] = cos * (np.float64(c) / np.float64(m + n - c))
        order = sorted(expected, key=lambda row: (-expected[row], row))
        assert ids[place].tolist() == order
        assert sims[place].tolist() == [expected[row] for row in order]


def test_the_last_feature_of_many(classifier):
    wide = 2_000_000
    rows = sp.csr_array((np.ones(3), [0, wide - 1, wide - 1], [0, 2, 3]), shape=(2, wide))
    clf = classifier(n_neighbors=1).fit(rows, np.eye(2))
    query = sp.csr_array((np.ones(1), [wide - 1], [0, 1]), shape=(1, wide))
    assert clf.kneighbors(query).ids.tolist() == [[1]]


def test_too_many_columns_are_refused(subject):
    beyond = sp.csr_array((2, 2**31), dtype=np.float64)
    with pytest.raises(ValueError, match="more than the 2\\*\\*31 - 1 supported"):
        SWNNClassifier(backend=subject.backend).fit(beyond, np.eye(2))


def test_no_rows(classifier):
    with pytest.raises(ValueError, match="X has no rows"):
        classifier().fit(np.zeros((0, 3)), np.zeros((0, 2)))
