"""What sessions and batches do with odd and bad input."""

import numpy as np
import oracle
import pytest

from kernels import dense
from swnn_kernels import (
    HybridIndex,
    Labels,
    QuantisedRows,
    Session,
    Settings,
    quantise,
    rank,
    search,
)

ONE_ROW = QuantisedRows(np.array([0, 2]), np.array([1, 3]), np.array([5033165, 6710886]), 5)
LABELS = Labels.prepare(np.array([0, 2]), np.array([4, 3_000_000]))
SETTINGS = Settings(3, 1.0, 1.0)


def wide(n_features):
    """The one row among more features."""
    return ONE_ROW._replace(n_features=n_features)


@pytest.fixture
def session():
    return Session(HybridIndex.build(ONE_ROW), LABELS, SETTINGS)


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
    index = HybridIndex.build(dense.canonical(rows))
    session = Session(index, Labels.prepare(np.arange(4), np.arange(3)), SETTINGS)
    assert session.predict_one([], [], 2)[0].tolist() == [-1, -1]
    assert session.predict_one(np.arange(5000), rows[1], 9)[0].tolist()[0] == 1
    assert session.predict_one(np.arange(5000), rows[2], 1)[0].tolist() == [2]


def test_empty_index_and_empty_batch():
    empty = QuantisedRows(np.array([0]), np.zeros(0, np.int32), np.zeros(0, np.int32), 5)
    ids, sims = search(HybridIndex.build(empty), ONE_ROW, 3, 1.0)
    assert ids.tolist() == [[-1, -1, -1]]
    assert sims.tolist() == [[0.0, 0.0, 0.0]]
    index = HybridIndex.build(ONE_ROW)
    assert search(index, empty, 3, 1.0)[0].shape == (0, 3)
    assert rank(index, LABELS, empty, SETTINGS, 2)[0].shape == (0, 2)
    nothing = empty._replace(n_features=0)
    none = HybridIndex.build(nothing._replace(indptr=np.zeros(4, np.int64)))
    one = nothing._replace(indptr=np.zeros(2, np.int64))
    assert search(none, one, 2, 0.0)[0].tolist() == [[-1, -1]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_neighbors": 0},
        {"beta": -1.0},
        {"beta": np.nan},
        {"n_jobs": 0},
        {"n_jobs": -1},
        {"method": "magic"},
        {"removed": np.ones(7, bool)},
    ],
)
def test_search_refuses_wrong_parameters(wrong):
    arguments = {"n_neighbors": 3, "beta": 1.0} | wrong
    with pytest.raises(ValueError, match=r"."):
        search(HybridIndex.build(ONE_ROW), ONE_ROW, **arguments)


def test_threads_give_the_same_in_the_same_order():
    rng = np.random.default_rng(1)
    rows = rng.choice([0.0, 0.0, 1.0, 2.0], (300, 20))
    queries = dense.canonical(rows)
    index = HybridIndex.build(queries)
    for one, two in zip(
        search(index, queries, 4, 1.0), search(index, queries, 4, 1.0, n_jobs=3), strict=True
    ):
        np.testing.assert_array_equal(one, two)


def test_quantised_values_are_the_oracles():
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((50, 30)) * 10.0 ** rng.integers(-300, 300, (50, 1))
    rows[0] = 1e-320
    indptr, indices, values = dense.sparse(rows)
    expected = np.concatenate([oracle.quantised(row)[0] for row in rows])
    assert quantise(indptr, indices, values).tolist() == expected.tolist()


def test_rows_longer_than_one_word_of_squares():
    size = 2**19 + 3
    row = np.where(np.arange(size) % 5 == 0, -1.0, 1.0)
    quantised = quantise(np.array([0, size]), np.zeros(size), row)
    assert np.unique(quantised).tolist() == np.unique(oracle.quantised(row)[0]).tolist()


def test_overlaps_beyond_sixteen_bits():
    size = 70_000
    rows = np.ones((2, size))
    rows[1, ::2] = 0
    index = HybridIndex.build(dense.canonical(rows))
    session = Session(index, Labels.prepare(np.arange(3), np.arange(2)), Settings(2, 1.0, 1.0))
    ids, sims = session.kneighbors_one(np.arange(size), np.ones(size))
    assert (ids.tolist(), sims.tolist()) == dense.neighbours(rows, rows[0], 2, 1)


class Refusing(HybridIndex):
    """An index that cannot give its postings, as a damaged one."""

    @property
    def postings(self):
        raise ValueError("index: damaged")


def test_a_session_goes_on_after_an_index_refused_a_long_query():
    width = 25_000  # the exhaustive search answers so long a query, from all postings
    index = Refusing.build(wide(width))
    session = Session(index, LABELS, SETTINGS)
    for _ in range(2):
        with pytest.raises(ValueError, match="damaged"):
            session.predict_one(np.arange(width), np.ones(width), 2)
        assert session.predict_one([1, 3], [3.0, 4.0], 2)[0].tolist() == [4, 3_000_000]


@pytest.mark.parametrize("failing", ["query_buffers", "prune_buffers"])
def test_a_session_goes_on_after_memory_was_short(monkeypatch, failing):
    width = 3000
    index = HybridIndex.build(wide(width))
    session = Session(index, LABELS, SETTINGS)
    long = np.arange(width), np.ones(width)
    with monkeypatch.context() as patch:
        patch.setattr(f"swnn_kernels.answer.searcher.{failing}", raise_memory_error)
        with pytest.raises(MemoryError):
            session.predict_one(*long, 2)
    for query in (([1, 3], [3.0, 4.0]), long):
        assert session.predict_one(*query, 2)[0].tolist() == [4, 3_000_000]


def raise_memory_error(*_):
    raise MemoryError


def test_a_long_query_leaves_a_session_the_fast_kernel():
    width = 30_000
    index = HybridIndex.build(wide(width))
    session = Session(index, LABELS, SETTINGS)
    session.predict_one(np.arange(15_000), np.ones(15_000), 2)
    assert session._searcher.is_pruned
