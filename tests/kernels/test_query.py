"""What sessions and batches do with odd and bad input."""

import numpy as np
import pytest

from kernels import oracle
from swnn_kernels import InvertedIndex, Session, normalise, rank, search

ONE_ROW = np.array([0, 2]), np.array([1, 3], np.int32), np.array([5033165, 6710886], np.int32)
LABELS = np.array([0, 2]), np.array([4, 3_000_000], np.int32)


@pytest.fixture
def session():
    return Session(InvertedIndex.build(*ONE_ROW, 5), *LABELS, 3, 1.0, 1.0)


@pytest.mark.parametrize("indices", [[3, 1], [1, 1], [1, 5], [-1, 1], [1, 2**40], list(range(9))])
def test_session_refuses_bad_ids(session, indices):
    with pytest.raises(ValueError, match="ids must be ascending"):
        session.predict_one(np.array(indices), np.ones(len(indices)), 2)
    assert session.predict_one([1, 3], [3.0, 4.0], 1)[0].tolist() == [4]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_session_refuses_values_that_are_not_finite(session, value):
    with pytest.raises(ValueError, match="finite"):
        session.kneighbors_one([1, 3], [1.0, value])


def test_session_refuses_shapes_that_do_not_fit(session):
    with pytest.raises(ValueError, match="one length"):
        session.predict_one([1, 2], [1.0], 1)
    with pytest.raises(ValueError, match="k must be"):
        session.predict_one([1], [1.0], 0)


def test_session_grows_with_k_and_query_length():
    rng = np.random.default_rng(0)
    rows = rng.random((3, 5000))
    indptr, indices, values = oracle.sparse(rows)
    index = InvertedIndex.build(indptr, indices, normalise(indptr, indices, values), 5000)
    session = Session(index, np.arange(4), np.arange(3, dtype=np.int32), 3, 1.0, 1.0)
    assert session.predict_one([], [], 2)[0].tolist() == [-1, -1]
    assert session.predict_one(np.arange(5000), rows[1], 9)[0].tolist()[0] == 1
    assert session.predict_one(np.arange(5000), rows[2], 1)[0].tolist() == [2]


def test_empty_index_and_empty_batch():
    empty = np.array([0]), np.zeros(0, np.int32), np.zeros(0, np.int32)
    ids, sims = search(InvertedIndex.build(*empty, 5), *ONE_ROW, 3, 1.0)
    assert ids.tolist() == [[-1, -1, -1]]
    assert sims.tolist() == [[0.0, 0.0, 0.0]]
    index = InvertedIndex.build(*ONE_ROW, 5)
    assert search(index, *empty, 3, 1.0)[0].shape == (0, 3)
    assert rank(index, *LABELS, *empty, 3, 1.0, 1.0, 2)[0].shape == (0, 2)
    none = InvertedIndex.build(np.zeros(4, np.int64), *empty[1:], 0)
    assert search(none, np.zeros(2, np.int64), *empty[1:], 2, 0.0)[0].tolist() == [[-1, -1]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_neighbors": 0},
        {"beta": -1.0},
        {"beta": np.nan},
        {"n_jobs": 0},
        {"method": "magic"},
        {"dead": np.ones(7, bool)},
    ],
)
def test_search_refuses_wrong_parameters(wrong):
    arguments = {"n_neighbors": 3, "beta": 1.0} | wrong
    with pytest.raises(ValueError, match=r"."):
        search(InvertedIndex.build(*ONE_ROW, 5), *ONE_ROW, **arguments)


def test_threads_give_the_same_in_the_same_order():
    rng = np.random.default_rng(1)
    rows = rng.choice([0.0, 0.0, 1.0, 2.0], (300, 20))
    indptr, indices, values = oracle.sparse(rows)
    queries = indptr, indices, normalise(indptr, indices, values)
    index = InvertedIndex.build(*queries, 20)
    for one, two in zip(
        search(index, *queries, 4, 1.0), search(index, *queries, 4, 1.0, n_jobs=3), strict=True
    ):
        np.testing.assert_array_equal(one, two)


def test_units_are_the_oracles():
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((50, 30)) * 10.0 ** rng.integers(-300, 300, (50, 1))
    rows[0] = 1e-320
    indptr, indices, values = oracle.sparse(rows)
    expected = np.concatenate([oracle.units(row) for row in rows])
    assert normalise(indptr, indices, values).tolist() == expected.tolist()


def test_rows_longer_than_one_word_of_squares():
    size = 2**19 + 3
    row = np.where(np.arange(size) % 5 == 0, -1.0, 1.0)
    units = normalise(np.array([0, size]), np.zeros(size), row)
    assert np.unique(units).tolist() == np.unique(oracle.units(row)).tolist()


def test_overlaps_beyond_sixteen_bits():
    size = 70_000
    rows = np.ones((2, size))
    rows[1, ::2] = 0
    indptr, indices, values = oracle.sparse(rows)
    index = InvertedIndex.build(indptr, indices, normalise(indptr, indices, values), size)
    session = Session(index, np.arange(3), np.arange(2, dtype=np.int32), 2, 1.0, 1.0)
    ids, sims = session.kneighbors_one(np.arange(size), np.ones(size))
    assert (ids.tolist(), sims.tolist()) == oracle.neighbours(rows, rows[0], 2, 1)


class Refusing(InvertedIndex):
    """An index whose lists can't be had, as those of a damaged one."""

    @property
    def inverted(self):
        raise ValueError("index: damaged")


def test_a_session_goes_on_after_an_index_refused_a_long_query():
    width = 25_000  # for so long a query the reference kernel answers, from lists of all features
    index = Refusing.build(np.array([0, 2]), ONE_ROW[1], ONE_ROW[2], width)
    session = Session(index, *LABELS, 3, 1.0, 1.0)
    for _ in range(2):
        with pytest.raises(ValueError, match="damaged"):
            session.predict_one(np.arange(width), np.ones(width), 2)
        assert session.predict_one([1, 3], [3.0, 4.0], 2)[0].tolist() == [4, 3_000_000]


@pytest.mark.parametrize("failing", ["make_work", "make_scratch"])
def test_a_session_goes_on_after_memory_was_short(monkeypatch, failing):
    width = 3000
    index = InvertedIndex.build(np.array([0, 2]), ONE_ROW[1], ONE_ROW[2], width)
    session = Session(index, *LABELS, 3, 1.0, 1.0)
    wide = np.arange(width), np.ones(width)
    with monkeypatch.context() as patch:
        patch.setattr(f"swnn_kernels.session.{failing}", raise_memory_error)
        with pytest.raises(MemoryError):
            session.predict_one(*wide, 2)
    for query in (([1, 3], [3.0, 4.0]), wide):
        assert session.predict_one(*query, 2)[0].tolist() == [4, 3_000_000]


def raise_memory_error(*_):
    raise MemoryError


def test_a_long_query_leaves_a_session_the_fast_kernel():
    width = 30_000
    index = InvertedIndex.build(np.array([0, 2]), ONE_ROW[1], ONE_ROW[2], width)
    session = Session(index, *LABELS, 3, 1.0, 1.0)
    session.predict_one(np.arange(15_000), np.ones(15_000), 2)
    assert session._pruned
