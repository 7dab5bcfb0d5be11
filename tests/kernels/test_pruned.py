"""The pruned search on data made to break bounds: it must return what the exhaustive one does."""

import lzma
from pathlib import Path

import numpy as np
import oracle
import pytest
from kernels.dense import canonical, first_rows

from swnn_kernels import HybridIndex, Labels, QuantisedRows, Session, Settings, quantise, search
from swnn_kernels.neighbours.records import FIRST

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def same(index, queries, n_neighbors, beta, removed=None):
    expected = search(index, queries, n_neighbors, beta, method="exhaustive", removed=removed)
    found = search(index, queries, n_neighbors, beta, method="pruned", removed=removed)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def near_ties(rng, n_rows):
    """Rows that differ from one another in the last bits only."""
    base = rng.random(30) * (rng.random(30) < 0.7)
    rows = np.tile(base, (n_rows, 1))
    at = rng.integers(0, 30, n_rows)
    rows[np.arange(n_rows), at] *= 1 + rng.integers(-3, 4, n_rows) * 2.0**-22
    return rows


def skewed(rng, n_rows):
    """Frequent and rare features, heavy-tailed values of both signs."""
    share = np.concatenate([np.full(20, 0.4), np.full(40, 0.02), np.full(60, 0.002)])
    rows = rng.standard_cauchy((n_rows, share.size)) * (rng.random((n_rows, share.size)) < share)
    rows[0, :] = 1.0
    return rows


def one_feature(rng, n_rows):
    rows = np.zeros((n_rows, 8))
    rows[np.arange(n_rows), rng.integers(0, 8, n_rows)] = rng.choice([1.0, -1.0], n_rows)
    return rows


def all_equal(rng, n_rows):
    return np.tile(rng.random(12), (n_rows, 1))


def binary(rng, n_rows):
    return (rng.random((n_rows, 40)) < 0.3).astype(float)


SHAPES = (near_ties, skewed, one_feature, all_equal, binary)


@pytest.mark.parametrize("make", SHAPES)
@pytest.mark.parametrize("frequent", [0.0, 0.01, 0.1])
def test_pruned_is_the_exhaustive_search(make, frequent):
    # More rows than one chunk, so that chunks after the first are filtered too.
    rng = np.random.default_rng(7)
    rows = make(rng, 17_500)
    queries = np.concatenate([rows[:4], make(rng, 4)])
    index = HybridIndex.build(canonical(rows), frequent=frequent, fewest=1)
    removed = rng.random(len(rows)) < 0.5
    for beta in (0.0, 0.5, 1.0, 2.0, 3.5):
        same(index, canonical(queries), 7, beta)
        same(index, canonical(queries), 300, beta, removed)


@pytest.mark.parametrize("make", [near_ties, skewed, binary])
def test_rows_beyond_the_stored_bounds(make):
    # The first threshold comes from the first rows; the others are only compared with it.
    rng = np.random.default_rng(11)
    rows = make(rng, FIRST + 900)
    queries = np.concatenate([rows[:2], rows[-2:], make(rng, 2)])
    index = HybridIndex.build(canonical(rows), frequent=0.05, fewest=1)
    removed = rng.random(len(rows)) < 0.5
    for beta in (0.0, 1.0):
        same(index, canonical(queries), 7, beta)
        same(index, canonical(queries), 300, beta, removed)


def test_rows_of_thousands_of_features():
    rng = np.random.default_rng(3)
    rows = rng.random((600, 3000)) * (rng.random((600, 3000)) < 0.6)
    index = HybridIndex.build(canonical(rows), frequent=0.3, fewest=1)
    for beta in (0.0, 1.0):
        same(index, canonical(rows[:5]), 10, beta)


def test_repeated_queries_leave_no_trace():
    rng = np.random.default_rng(5)
    rows = skewed(rng, 3000)
    index = HybridIndex.build(canonical(rows), frequent=0.05, fewest=1)
    labels = Labels.prepare(np.arange(3001), np.arange(3000))
    session = Session(index, labels, Settings(5, 1.0, 1.0), method="pruned")
    first = [session.kneighbors_one(np.flatnonzero(row), row[row != 0]) for row in rows[:40]]
    again = [session.kneighbors_one(np.flatnonzero(row), row[row != 0]) for row in rows[:40]]
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one[0], two[0])


@pytest.mark.parametrize(("weight", "beta"), [(0.9, 148.89), (0.5, 1030.0)])
def test_similarities_too_small_for_a_margin(weight, beta):
    """They lie among float32's or float64's subnormals: the best row comes last of 16,385."""
    n_rows = 16385
    indices = np.tile(np.array([0, 1, 2], np.int32), (n_rows, 1))
    indices[-1] = [3, 4, 5]
    indptr = np.arange(0, 3 * n_rows + 1, 3)
    quantised = quantise(indptr, indices.ravel(), np.ones(3 * n_rows))
    index = HybridIndex.build(
        QuantisedRows(indptr, indices.ravel(), quantised, 6), frequent=0.0, fewest=1
    )
    query = canonical(np.array([[weight] * 3 + [1.0] * 3]))
    ids, _ = search(index, query, 1, beta, method="exhaustive")
    assert ids.tolist() == [[n_rows - 1]]
    same(index, query, 1, beta)


def test_a_row_longer_than_one_by_rounding():
    """All of a row's frequent values round up, and its listed part takes nearly all of them away.

    So its dot exceeds its listed part plus the norm of the query's frequent part, by more than the
    margin of what is left: a bound that took a row's norm for 1 would leave out the best row.
    """
    n_frequent, n_listed = 2037, 500  # with this many, values are half a step too large
    query = np.repeat([0.0005, 1.0], [n_frequent, n_listed])
    rows = np.zeros((300, query.size))  # so many: the lists are tried first
    rows[2:152, :n_frequent] = 1.0
    rows[:2] = np.repeat([1.0, -0.002], [n_frequent, n_listed])
    rows[0, 0] = 0.999  # a little worse; completed before the best row

    values, best = (oracle.quantised(row)[0].astype(float) for row in (query, rows[1]))
    bound = values[n_frequent:] @ best[n_frequent:] + np.linalg.norm(values[:n_frequent]) * 2.0**23
    assert values @ best > bound * (1 + 2.0**-14) > 0

    index = HybridIndex.build(canonical(rows), frequent=0.0, fewest=3)
    assert index.stored.frequent_features.tolist() == list(range(n_frequent))
    ids, _ = search(index, canonical(query[None]), 1, 30.0, method="exhaustive")
    assert ids.tolist() == [[1]]
    same(index, canonical(query[None]), 1, 30.0)


def read_rows(path):
    """Sparse rows of a repository file, without labels."""
    with lzma.open(path, "rt") as file:
        n_rows, n_features, _ = map(int, file.readline().split())
        pairs = [[p.split(":") for p in line.split() if ":" in p] for line in file]
    indptr = np.cumsum([0] + [len(row) for row in pairs[:n_rows]])
    indices = np.array([int(f) for row in pairs for f, _ in row], dtype=np.int32)
    values = np.array([float(v) for row in pairs for _, v in row])
    return QuantisedRows(indptr, indices, quantise(indptr, indices, values), n_features)


@pytest.mark.parametrize("name", ["bibtex", "delicious"])
def test_real_data(name):
    if not DATA.is_dir():
        pytest.skip("real data left out: there is no shared/data beside the clone")
    index = HybridIndex.build(read_rows(DATA / name / "train.txt.xz"))
    queries = first_rows(read_rows(DATA / name / "test.txt.xz"), 100)
    for beta in (0.0, 1.0):
        same(index, queries, 25, beta)


@pytest.mark.parametrize("binary", [False, True])
def test_long_rows_whose_weights_are_finer(binary):
    rng = np.random.default_rng(11)
    rows = (rng.random((700, 600)) < 0.7) * (1.0 if binary else rng.lognormal(0, 1, (700, 600)))
    rows[300:320] = rows[:20] * (1 + (rng.random((20, 600)) < 0.01) * 2.0**-20)  # near ties
    index = HybridIndex.build(canonical(rows), frequent=0.5)
    assert index.stored.forward_hi.size > 256 * index.n_rows
    queries = canonical(rows[::9] * (rng.random((78, 600)) < 0.8))
    for n_neighbors in (1, 25, 75, 700):
        for beta in (0.0, 0.5, 1.0, 2.0):
            same(index, queries, n_neighbors, beta)
