"""Labels that rows must not get are left out of rankings, on every backend."""

import numpy as np
import pytest
import scipy.sparse as sp

RNG = np.random.default_rng(7)
X = RNG.choice([0.0, 0.0, 1.0, 2.0], (50, 12))
Y = (X @ (RNG.random((12, 8)) < 0.2) > 2).astype(int)
EXCLUDED = RNG.random((10, 8)) < 0.3
EXCLUDED[4] = True


def slow(labels, scores, k):
    """The first k labels of each row that it may have."""
    rows = []
    for ranked, out in zip(zip(labels, scores, strict=True), EXCLUDED, strict=True):
        kept = [pair for pair in zip(*ranked, strict=True) if pair[0] >= 0 and not out[pair[0]]][:k]
        rows.append(kept + [(-1, 0.0)] * (k - len(kept)))
    return [list(zip(*row, strict=True)) for row in rows]


@pytest.mark.parametrize("k", [1, 3, 11])
def test_what_is_left_moves_up(classifier, ranker, k):
    for make in (classifier, ranker):
        check_topk(make(n_neighbors=9).fit(X, Y), k)


def check_topk(clf, k):
    whole = clf.topk_probabilities(X[:10], k=8)
    wanted = slow(whole.labels.tolist(), whole.scores.tolist(), k)
    likely = slow(whole.labels.tolist(), whole.probabilities.tolist(), k)
    for exclude in (sp.csr_array(EXCLUDED.astype(int)), np.argwhere(EXCLUDED)):
        best = clf.predict_topk(X[:10], k=k, exclude=exclude)
        found = [
            [tuple(row) for row in pair]
            for pair in zip(best.labels.tolist(), best.scores.tolist(), strict=True)
        ]
        assert found == wanted
        again = clf.topk_probabilities(X[:10], k=k, exclude=exclude)
        assert again.labels.tolist() == best.labels.tolist()
        assert [tuple(row) for row in again.probabilities.tolist()] == [row[1] for row in likely]
    nothing = clf.predict_topk(X[:10], k=k, exclude=np.zeros((0, 2), int))
    assert nothing.labels.tolist() == clf.predict_topk(X[:10], k=k).labels.tolist()


@pytest.mark.parametrize(
    ("exclude", "message"),
    [
        ([(0, 8)], "exclude: pair 0 has label 8, outside 0..7"),
        ([(1, 0), (10, 0)], "exclude: pair 1 has row 10, outside 0..9"),
        ([[0.5, 1.0]], "exclude must be a sparse 0/1 matrix, or pairs"),
        (np.ones((10, 8)), "exclude must be a sparse 0/1 matrix, or pairs"),
        (sp.csr_array((3, 8)), "exclude must have 10 rows and 8 labels"),
    ],
)
def test_what_makes_no_sense_is_refused(classifier, exclude, message):
    clf = classifier(n_neighbors=3).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        clf.predict_topk(X[:10], exclude=exclude)
