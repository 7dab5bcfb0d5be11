"""Appending, removing and compacting: answers equal those of a fresh fit on what remains."""

import threading

import numpy as np
import pytest
from contract.problems import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st

D, L = 6, 4


def random_rows(rng, n):
    X = rng.choice([0.0, 0.0, 1.0, 2.0], size=(n, D))
    return X, (rng.random((n, L)) < 0.4).astype(int)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 9)),
        st.tuples(st.just("remove"), st.integers(1, 5)),
        st.tuples(st.just("compact"), st.just(0)),
    ),
    max_size=8,
)


@settings(max_examples=EXAMPLES * 2 // 3, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), steps=steps, S=st.integers(1, 12))
def test_any_sequence_equals_a_fresh_fit(classifier, seed, steps, S):
    rng = np.random.default_rng(seed)
    X, Y = random_rows(rng, 5)
    clf = classifier(n_neighbors=S).fit(X, Y)
    alive = list(range(5))
    Q, _ = random_rows(rng, 4)
    for what, count in steps:
        if what == "append":
            more = random_rows(rng, count)
            alive += range(len(X), len(X) + count)
            X, Y = np.vstack([X, more[0]]), np.vstack([Y, more[1]])
            clf.partial_fit(*more)
        elif what == "remove":
            gone = rng.permutation(alive)[:count].tolist()
            alive = [i for i in alive if i not in gone]
            clf.remove(gone)
        else:
            clf.compact()
        check_equal(clf, classifier, X, Y, alive, Q, S)


def check_equal(clf, classifier, X, Y, alive, Q, S):
    assert clf.n_samples_fit_ == len(alive)
    if not alive:
        assert (clf.kneighbors(Q).ids == -1).all()
        return
    fresh = classifier(n_neighbors=S).fit(X[alive], Y[alive])
    sims, ids = fresh.kneighbors(Q)
    expected = np.where(ids >= 0, np.asarray(alive)[ids], -1)
    found = clf.kneighbors(Q)
    np.testing.assert_array_equal(found.ids, expected)
    np.testing.assert_array_equal(found.similarities, sims)
    for a, b in zip(clf.predict_topk(Q, 3), fresh.predict_topk(Q, 3), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (clf.predict_proba(Q) != fresh.predict_proba(Q)).nnz == 0


def test_nothing_is_left(classifier):
    clf = classifier(n_neighbors=2).fit(np.eye(3), np.eye(3)).remove([0, 1, 2])
    for _ in range(2):
        assert clf.kneighbors(np.eye(3)).ids.tolist() == [[-1, -1]] * 3
        assert clf.predict_topk(np.eye(3), k=1).labels.tolist() == [[-1]] * 3
        assert clf.predict_proba(np.eye(3)).nnz == 0
        clf.compact()
    clf.partial_fit(np.eye(3)[:1], np.eye(3)[:1])
    assert clf.kneighbors(np.eye(3)).ids.tolist() == [[3, -1], [-1, -1], [-1, -1]]


def test_ids_are_never_given_twice(classifier):
    clf = classifier(n_neighbors=3).fit(np.eye(3), np.eye(3))
    clf.remove([2]).compact().partial_fit(np.eye(3)[2:], np.eye(3)[2:])
    assert clf.kneighbors(np.eye(3)[2:]).ids.tolist() == [[3, -1, -1]]
    assert clf.explain(np.eye(3)[2], 2).voters[0].row == 3


def test_removing_what_is_not_there(classifier):
    clf = classifier().fit(np.eye(3), np.eye(3))
    for bad in ([3], [-1], [0, 7]):
        with pytest.raises(ValueError, match="there is no row"):
            clf.remove(bad)
    clf.remove(1)
    with pytest.raises(ValueError, match="there is no row 1"):
        clf.remove([0, 1])
    assert clf.compact().kneighbors(np.eye(3), n_neighbors=1).ids.tolist() == [[0], [-1], [2]]
    with pytest.raises(ValueError, match="there is no row 1"):
        clf.remove([1])
    with pytest.raises(ValueError, match="must be whole numbers"):
        clf.remove([0.5])


def test_new_labels_may_come_and_new_features_may_not(classifier):
    clf = classifier().fit(np.eye(2), np.eye(2), label_names=["a", "b"])
    with pytest.raises(ValueError, match="must name all 3"):
        clf.partial_fit(np.eye(2)[:1], [[0, 0, 1]])
    clf.partial_fit(np.eye(2)[:1], [[0, 0, 1]], label_names=["a", "b", "c"])
    assert clf.n_labels_ == 3
    assert clf.predict_topk(np.eye(2)[:1], k=2).labels.tolist() == [[0, 2]]
    with pytest.raises(ValueError, match="X has 3 features"):
        clf.partial_fit(np.eye(3), np.eye(3))


def test_fewer_label_columns_are_refused_unless_allowed(classifier):
    clf = classifier().fit(np.eye(3), np.eye(3))
    message = "y has 2 labels, but the model has 3; allow_narrower=True takes missing columns"
    with pytest.raises(ValueError, match=message):
        clf.partial_fit(np.eye(3)[:1], [[1, 0]])
    assert clf.n_samples_fit_ == 3
    clf.set_params(allow_narrower=True).partial_fit(np.eye(3)[:1], [[1, 0]])
    assert clf.label_counts_.tolist() == [2, 1, 1]


def test_partial_fit_first(classifier):
    clf = classifier().partial_fit(np.eye(2), np.eye(2))
    assert clf.predict_topk(np.eye(2), k=1).labels.tolist() == [[0], [1]]


def test_readers_always_see_one_state(classifier):
    """State s holds s + 1 copies of one row with label s: a mixture would show."""
    x, n_states = np.ones((1, 2)), 12
    clf = classifier(n_neighbors=50, alpha=0.0).fit(x, [[1] + [0] * n_states])
    seen, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            labels, scores = clf.predict_topk(x, k=3)
            seen.append((labels[0, 0], scores[0, 0], labels[0, 1]))

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    before = [0]
    for state in range(1, n_states + 1):
        row = [0] * (n_states + 1)
        row[state] = 1
        first = clf.model_.next_id
        clf.partial_fit(np.tile(x, (state + 1, 1)), [row] * (state + 1))
        clf.remove(before)
        before = list(range(first, first + state + 1))
        if state % 3 == 0:
            clf.compact()
    stop.set()
    for reader in readers:
        reader.join()
    assert seen
    for best, score, second in seen:
        both = second >= 0  # between append and remove, two labels are there
        assert score == best + 1
        assert not both or second == best - 1


def test_labels_are_placed_once_for_many_removals(classifier):
    """Marks change, labels do not: they stay where they are."""
    clf = classifier(n_neighbors=2).fit(np.eye(5), np.eye(5))
    clf.predict_topk(np.eye(5))
    placed = clf.model_.placed_labels
    for row in range(3):
        clf.remove([row]).predict_topk(np.eye(5))
        assert clf.model_.placed_labels is placed


def test_removing_nothing_changes_nothing(classifier):
    clf = classifier().fit(np.eye(3), np.eye(3))
    model = clf.model_
    assert clf.remove([]).model_ is model
    assert len({model, clf.model_}) == 1, "models are told apart by identity"


@pytest.mark.parametrize("id_", [2**64 - 1, 2**63, 3])
def test_unknown_ids_of_any_integer_type(classifier, id_):
    clf = classifier().fit(np.eye(3), np.eye(3))
    with pytest.raises(ValueError, match=f"there is no row {id_}$"):
        clf.remove(np.asarray([id_], dtype=np.uint64))
    assert clf.remove(np.asarray([2], dtype=np.uint64)).n_samples_fit_ == 2
