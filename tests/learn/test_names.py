"""Names of labels: the forms they come in, new labels, sessions, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from learn.problems import digest

from swnn_xp import SWNNRanker
from swnn_xp.learn.evidence import TrainingSource
from swnn_xp.learn.label_names import features_of_names, words_of

RNG = np.random.default_rng(11)
X = RNG.choice([0.0, 0.0, 0.0, 1.0, 2.0], (60, 12))
Y = (X @ (RNG.random((12, 9)) < 0.2) > 2).astype(int)
Y[:, 7:] = 0  # labels that no row has
Z = (RNG.random((9, 12)) < 0.2).astype(int)
WORDS = ["ale", "wine", "red", "white", "dark", "pale", "port", "rum", "old", "new", "malt", "hops"]
NAMES = [" ".join(np.asarray(WORDS)[row > 0]) or f"none {i}" for i, row in enumerate(Z)]
TEXTS = ["red wine", "white wine", "dark ale", "pale ale"] * 6
TAGS = [["wine"], ["wine"], ["ale"], ["ale"]] * 6


def fitted(**given):
    return SWNNRanker(n_neighbors=9, n_candidates=3).fit(X, Y, **given)


def same(one, other):
    best, others = one.predict_topk(X, k=9), other.predict_topk(X, k=9)
    return np.array_equal(best.labels, others.labels) and np.array_equal(best.scores, others.scores)


def test_all_forms_mean_the_same():
    by_matrix = fitted(label_features=Z)
    for given in (
        {"label_features": sp.csr_array(Z)},
        {"label_features": sp.csr_array(Z[::-1]), "label_of": np.arange(9)[::-1]},
        {"label_features": "names", "label_names": NAMES, "feature_names": WORDS},
        {"label_features": NAMES, "feature_names": WORDS},
        {"label_features": [[name] for name in NAMES], "feature_names": WORDS},
    ):
        # Words that are no feature make a name harder to find: only labels without words differ.
        assert same(by_matrix, fitted(**given))


def test_without_names_nothing_changes():
    nothing = fitted(label_features=sp.csr_array((9, 12)))
    assert same(nothing, fitted())


def test_the_best_of_several_names_counts():
    twice = np.concatenate([Z, np.eye(12, dtype=int)[:9]])
    clf = fitted(label_features=twice, label_of=np.concatenate([np.arange(9)] * 2))
    row = np.zeros((1, 12))
    row[0, 8] = 1.0
    words = [feature.feature for part in clf.explain(row, 8).evidence for feature in part.features]
    assert words == [8]


@pytest.mark.parametrize("centroids", [False, True])
def test_sessions_give_the_same_answers(centroids):
    clf = SWNNRanker(n_neighbors=9, centroids=centroids).fit(X, Y, label_features=Z)
    for model in (clf, clf.partial_fit(X[:3], Y[:3])):
        session = model.session()
        for row in [*X[:30], np.repeat([1.0, 0.0], 6), np.zeros(12)]:
            for at in (np.flatnonzero(row), np.arange(12)):  # zeros are not support
                labels, scores = session.predict_one(at, row[at], k=9)
                best = model.predict_topk(row[None], k=9)
                assert labels.tolist() == best.labels[0].tolist()
                assert scores.tolist() == best.scores[0].tolist()


def test_sessions_follow_new_labels():
    clf = fitted(label_features=Z)
    session = clf.session()
    session.predict_one([0], [1.0])
    clf.add_labels(label_features=np.eye(12, dtype=int)[[0]])
    labels, _ = session.predict_one([0], [1.0], k=10)
    assert labels.tolist() == clf.predict_topk(np.eye(12)[:1], k=10).labels[0].tolist()
    assert 9 in labels


def test_a_feature_that_no_row_has_finds_a_name():
    wide = np.pad(X, ((0, 0), (0, 1)))
    names = np.pad(Z, ((0, 0), (0, 1)))
    names[8] = np.arange(13) == 12
    clf = SWNNRanker(n_neighbors=9).fit(wide, Y, label_features=names)
    assert clf.predict_topk(np.eye(13)[12:], k=1).labels.tolist() == [[8]]


def test_texts_find_labels_added_by_name():
    clf = SWNNRanker(n_neighbors=3).fit(TEXTS, TAGS, label_features="names")
    clf.add_labels(["dark", "pale reds"])
    assert clf.label_names_ == ["ale", "wine", "dark", "pale reds"]
    assert "dark" in clf.predict_names(["dark ale"], k=3)[0]
    assert "pale reds" in clf.predict_names(["pale red wine"], k=4)[0]
    clf.partial_fit(["white ale"], [["white"]])
    assert clf.label_names_[-1] == "white"
    assert "white" in clf.predict_names(["white"], k=3)[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"label_features": "words"}, "label_features must be a matrix, 'names' or names"),
        ({"label_features": "names"}, "label_features='names' needs the names of the labels"),
        ({"label_features": NAMES}, "names of labels need names of features to be found by"),
        ({"label_features": NAMES[:3], "feature_names": WORDS}, "has names of 3 labels, not 9"),
        ({"label_features": np.eye(9, 13)}, "label_features has 13 features, but X has 12"),
        ({"label_features": Z[:4]}, "label_features has 4 rows for 9 labels"),
        ({"label_features": Z, "label_of": [0, 1]}, "has 9 rows for 2 entries of label_of"),
        ({"label_features": Z, "label_of": np.arange(9) + 1}, r"label_of must lie in 0\.\.8"),
        ({"label_features": Z, "label_of": np.ones(9)}, "label_of must hold label ids"),
        ({"label_of": np.arange(9)}, "label_of goes with label_features"),
        (
            {"label_features": NAMES, "label_of": np.arange(9), "feature_names": WORDS},
            "label_of goes with a matrix",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        fitted(**given)


def test_new_labels_that_make_no_sense_are_refused():
    clf = fitted()
    with pytest.raises(ValueError, match="fit it with label_features"):
        clf.add_labels(label_features=Z[:1])
    named = fitted(label_features="names", label_names=NAMES, feature_names=WORDS)
    with pytest.raises(ValueError, match="there is a label"):
        named.add_labels([NAMES[3]])
    with pytest.raises(ValueError, match="the model's labels have names, so new labels need them"):
        named.add_labels(label_features=Z[:1])
    with pytest.raises(ValueError, match="new labels need names or label_features"):
        named.add_labels()
    with pytest.raises(ValueError, match="but there are none"):
        named.partial_fit(X[:1], Y[:1], label_features=Z[:1])
    numbers = SWNNRanker().fit(X[:, :], [3, 7] * 30, label_features=Z[:2])
    with pytest.raises(ValueError, match="labels are numbers"):
        numbers.add_labels(label_features=Z[:1])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("janrain:rpx_engage", ["janrain", "rpx", "engage"]),
        ("listView.setAdapter", ["list", "view", "set", "adapter"]),
        ("HTTPServer-2 (web)", ["http", "server", "2", "web"]),
        ("Ünïcode_Straße", ["ünïcode", "straße"]),
        ("", []),
    ],
)
def test_words_of_names(name, words):
    assert words_of(name) == words


def test_singular_and_plural_are_tried_both_ways():
    found = features_of_names(["dogs", "cat", "mice"], range(3), {"dog": 0, "cats": 1})
    assert found.features.tolist() == [0, 1, 2]


@pytest.mark.parametrize("centroids", [False, True])
def test_names_that_mislead_are_not_used(monkeypatch, centroids):
    plain = SWNNRanker(n_neighbors=9, n_candidates=3, centroids=centroids).fit(X, Y)
    monkeypatch.setattr(TrainingSource, "is_used", lambda self, _: self.terms is None)
    clf = SWNNRanker(n_neighbors=9, n_candidates=3, centroids=centroids)
    clf.fit(X, Y, label_features=Z)
    assert not clf.names_used_
    assert digest(clf) == digest(plain)


def test_names_are_tried_on_rows_left_out():
    rng = np.random.default_rng(2)
    X = (rng.random((1500, 30)) < 0.15).astype(float)
    Y = (X[:, :20] > 0) & (rng.random((1500, 20)) < 0.8)
    names = np.eye(20, 30, dtype=int)
    assert SWNNRanker(n_neighbors=5).fit(X, Y.astype(int), label_features=names).names_used_
