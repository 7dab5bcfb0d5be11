"""Labels in every form that `fit` takes, and predictions in the same form."""

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import LearnedWeights, SWNNClassifier, SWNNRanker, load

X = np.asarray([[1.0, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]] * 5)
Y = np.asarray([[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 0]] * 5)
NAMES = ["a", "b", "c"]
LISTS = [[NAMES[j] for j in np.flatnonzero(row)] for row in Y]
ONE = ["a", "b", "a", "b"] * 5
QUERIES = np.asarray([[2.0, 0, 0], [0, 0, 1], [0, 0, 0]])


class Frame:
    """What is used of a table of pandas: columns and to_numpy."""

    def __init__(self, array, columns):
        self.array, self.columns = np.asarray(array), list(columns)
        self.shape = self.array.shape

    def to_numpy(self):
        return self.array

    def __array__(self, dtype=None, copy=None):
        return self.array.astype(dtype or self.array.dtype)


@pytest.fixture(params=[SWNNClassifier, SWNNRanker])
def kind(request):
    return request.param


def answers(clf):
    return [part.tolist() for part in clf.predict_topk(QUERIES, k=3)]


@pytest.mark.parametrize(
    "given",
    [
        LISTS,
        [set(row) for row in LISTS],
        [tuple(row) for row in LISTS],
        np.asarray([*map(list, LISTS), None], dtype=object)[:-1],
        sp.csr_array(Y),
        Frame(Y, NAMES),
    ],
    ids=["lists", "sets", "tuples", "objects", "sparse", "table"],
)
def test_every_form_is_the_same_problem(kind, given):
    clf, plain = kind(n_neighbors=3).fit(X, given), kind(n_neighbors=3).fit(X, Y)
    assert answers(clf) == answers(plain)
    if not sp.issparse(given):
        assert clf.predict_names(QUERIES, k=1) == [["a"], ["b"], []]
    assert clf.score(X, given) == plain.score(X, Y)


def test_predictions_have_the_form_of_the_labels(kind):
    dense = kind(n_neighbors=3).fit(X, Y)
    sparse = kind(n_neighbors=3).fit(X, sp.csr_array(Y))
    lists = kind(n_neighbors=3).fit(X, LISTS)
    for method in ("predict", "predict_proba", "decision_function"):
        mine, its = getattr(dense, method)(QUERIES), getattr(sparse, method)(QUERIES)
        assert isinstance(mine, np.ndarray)
        np.testing.assert_array_equal(mine, its.toarray())
    chosen = [[NAMES[j] for j in np.flatnonzero(row)] for row in dense.predict(QUERIES)]
    assert lists.predict(QUERIES) == chosen
    assert sp.issparse(lists.predict_proba(QUERIES))
    assert lists.classes_.tolist() == lists.label_names_ == NAMES


def test_one_class_per_row(kind):
    clf = kind(n_neighbors=3).fit(X, ONE)
    assert clf.predict(QUERIES).tolist() == ["a", "b", "a"], (
        "the most frequent class, then the first"
    )
    assert clf.predict(QUERIES).dtype == np.asarray(ONE).dtype
    assert clf.predict_proba(QUERIES).sum(axis=1) == pytest.approx([1, 1, 1])
    assert clf.predict_proba(QUERIES)[2].tolist() == [0.5, 0.5]
    assert clf.decision_function(QUERIES).shape == (3,)
    assert clf.score(X, ONE) == 1.0
    numbers = kind(n_neighbors=3).fit(X, [7, 30, 7, 30] * 5)
    assert numbers.predict(QUERIES).tolist() == [7, 30, 7]
    assert numbers.classes_.tolist() == [7, 30]
    assert numbers.predict_names(QUERIES[:1], k=1) == [["7"]]
    assert kind(n_neighbors=3).fit(X, [1, 2, 3, 2] * 5).decision_function(QUERIES).shape == (3, 3)


def test_a_saved_model_keeps_the_form(kind, tmp_path):
    for i, given in enumerate([Y, LISTS, ONE, [7, 30, 7, 30] * 5]):
        clf = kind(n_neighbors=3).fit(X, given)
        clf.save(tmp_path / str(i))
        again = load(tmp_path / str(i), verify=True)
        assert list(map(str, again.classes_)) == list(map(str, clf.classes_))
        np.testing.assert_array_equal(again.predict(QUERIES[:2]), clf.predict(QUERIES[:2]))
        assert type(again.predict(QUERIES)) is type(clf.predict(QUERIES))


def test_new_labels_come_last(kind):
    clf = kind(n_neighbors=3).fit(X, LISTS)
    clf.partial_fit(
        [
            [
                0,
                0,
                0,
            ][:3]
        ],
        [["0 new", "a"]],
    )
    assert clf.label_names_ == [*NAMES, "0 new"]
    numbers = kind(n_neighbors=3).fit(X, [7, 30, 7, 30] * 5).partial_fit([[0, 5, 0]], [1])
    assert numbers.classes_.tolist() == [7, 30, 1]
    assert numbers.kneighbors([[0, 5, 0]], n_neighbors=1).ids.tolist() == [[20]]
    first = kind(n_neighbors=3).partial_fit(X, ONE, classes=["a", "b", "z"])
    assert first.classes_.tolist() == ["a", "b", "z"]


def test_names_fix_the_columns():
    clf = SWNNClassifier().fit(X, LISTS, label_names=["c", "b", "a", "unused"])
    assert clf.label_counts_.tolist() == [5, 10, 10, 0]
    with pytest.raises(ValueError, match="label 'a' is not among the 2 known"):
        SWNNClassifier().fit(X, LISTS, label_names=["b", "c"])


def test_weights_are_learned_from_every_form():
    plain = LearnedWeights(n_neighbors=3).fit(X, Y).feature_weights_
    np.testing.assert_array_equal(
        LearnedWeights(n_neighbors=3).fit(X, LISTS).feature_weights_, plain
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            2 * Y,
            "y: row 0, column 0 is 2; a label is 0 .absent. or 1 .present.; give label numbers",
        ),
        (0.5 * Y, "y: row 0, column 0 is 0.5; a label is 0"),
        (sp.csr_array(2 * Y), "y: row 0, column 0 is 2"),
        (np.linspace(0, 1, 20), "Unknown label type: continuous. A label must be a text"),
        ([["a"], [3]] * 10, "labels must be all texts or all numbers, not both"),
        ([[b"a"], ["b", "c"]] * 10, "a label must be a text or a whole number, got b'a'"),
        ([None] * 20, "a label must be a text or a whole number, got None"),
        (None, "requires y to be passed, but the target y is None"),
        (LISTS[:3], "X has 20 rows but y has 3"),
    ],
)
def test_what_is_no_label_is_refused_in_one_line(kind, given, message):
    with pytest.raises(ValueError, match=message) as caught:
        kind().fit(X, given)
    assert "\n" not in str(caught.value)


def test_values_need_a_model_that_knows_values():
    clf = SWNNClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="fitted with a matrix of 3 columns without names"):
        clf.score(X, LISTS)
    assert SWNNClassifier().fit(X, Y, label_names=NAMES).score(X, LISTS) == clf.score(X, Y)
