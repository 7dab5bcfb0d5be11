"""The pruned kernel on data made to break bounds: it must return what the reference returns."""

import lzma
from pathlib import Path

import numpy as np
import pytest

from kernels import oracle
from swnn_kernels import InvertedIndex, Session, normalise, search, search_within

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def same(index, queries, n_neighbors, beta, dead=None):
    expected = search(index, *queries, n_neighbors, beta, method="reference", dead=dead)
    found = search(index, *queries, n_neighbors, beta, method="pruned", dead=dead)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def canonical(rows):
    indptr, indices, values = oracle.sparse(rows)
    return indptr, indices, normalise(indptr, indices, values)


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
def test_pruned_is_the_reference(make, frequent):
    # More rows than one chunk, so that chunks after the first are filtered too.
    rng = np.random.default_rng(7)
    rows = make(rng, 17_500)
    queries = np.concatenate([rows[:4], make(rng, 4)])
    indptr, indices, units = canonical(rows)
    index = InvertedIndex.build(indptr, indices, units, rows.shape[1], frequent=frequent, fewest=1)
    dead = rng.random(len(rows)) < 0.5
    for beta in (0.0, 0.5, 1.0, 2.0, 3.5):
        same(index, canonical(queries), 7, beta)
        same(index, canonical(queries), 300, beta, dead)


def test_rows_of_thousands_of_features():
    rng = np.random.default_rng(3)
    rows = rng.random((600, 3000)) * (rng.random((600, 3000)) < 0.6)
    indptr, indices, units = canonical(rows)
    index = InvertedIndex.build(indptr, indices, units, 3000, frequent=0.3, fewest=1)
    for beta in (0.0, 1.0):
        same(index, canonical(rows[:5]), 10, beta)


def test_repeated_queries_leave_no_trace():
    rng = np.random.default_rng(5)
    rows = skewed(rng, 3000)
    index = InvertedIndex.build(*canonical(rows), rows.shape[1], frequent=0.05, fewest=1)
    labels = np.arange(3001), np.arange(3000, dtype=np.int32)
    session = Session(index, *labels, 5, 1.0, 1.0, method="pruned")
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
    units = normalise(indptr, indices.ravel(), np.ones(3 * n_rows))
    index = InvertedIndex.build(indptr, indices.ravel(), units, 6, frequent=0.0, fewest=1)
    one = np.array([0, 6]), np.arange(6, dtype=np.int32)
    query = *one, normalise(*one, np.array([weight] * 3 + [1.0] * 3))
    exact = search(index, *query, 1, beta, method="reference")
    assert exact[0].tolist() == [[n_rows - 1]]
    for one, two in zip(exact, search(index, *query, 1, beta, method="pruned"), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_row_longer_than_one_by_rounding():
    """All of a row's frequent units round up, and its listed part takes nearly all of them away.

    So its dot exceeds its listed part plus the norm of the query's frequent part, by more than the
    margin of what is left: a bound that took a row's norm for 1 would leave out the best row.
    """
    n_frequent, n_listed = 2037, 500  # with so many, units are half of one too large
    query = np.repeat([0.0005, 1.0], [n_frequent, n_listed])
    rows = np.zeros((300, query.size))  # so many: the lists are tried first
    rows[2:152, :n_frequent] = 1.0
    rows[:2] = np.repeat([1.0, -0.002], [n_frequent, n_listed])
    rows[0, 0] = 0.999  # a little worse; completed before the best row

    units, best = (oracle.units(row).astype(float) for row in (query, rows[1]))
    bound = units[n_frequent:] @ best[n_frequent:] + np.linalg.norm(units[:n_frequent]) * 2.0**23
    assert units @ best > bound * (1 + 2.0**-14) > 0

    index = InvertedIndex.build(*canonical(rows), query.size, frequent=0.0, fewest=3)
    assert index.frequent.tolist() == list(range(n_frequent))
    ids, _ = search(index, *canonical(query[None]), 1, 30.0, method="reference")
    assert ids.tolist() == [[1]]
    same(index, canonical(query[None]), 1, 30.0)


def test_budget_reports_what_it_left_open():
    rng = np.random.default_rng(11)
    rows = skewed(rng, 4000)
    index = InvertedIndex.build(*canonical(rows), rows.shape[1], frequent=0.05, fewest=1)
    queries = canonical(rows[100:140])
    exact, sims = search(index, *queries, 5, 1.0)
    for budget in (5, 50, 100_000):
        ids, found, might = search_within(index, *queries, 5, 1.0, budget=budget)
        missing = [len(set(e) - set(i)) for e, i in zip(exact, ids, strict=True)]
        assert np.all(might >= missing)
        assert np.all(found <= sims)
    assert np.all(might == 0), "more budget than rows: the answer is exact"
    np.testing.assert_array_equal(ids, exact)
    with pytest.raises(ValueError, match="budget"):
        search(index, *queries, 5, 1.0, budget=0)


def read_rows(path):
    """Sparse rows of a repository file, without labels."""
    with lzma.open(path, "rt") as file:
        n_rows, n_features, _ = map(int, file.readline().split())
        pairs = [[p.split(":") for p in line.split() if ":" in p] for line in file]
    indptr = np.cumsum([0] + [len(row) for row in pairs[:n_rows]])
    indices = np.array([int(f) for row in pairs for f, _ in row], dtype=np.int32)
    values = np.array([float(v) for row in pairs for _, v in row])
    return (indptr, indices, normalise(indptr, indices, values)), n_features


@pytest.mark.parametrize("name", ["bibtex", "delicious"])
def test_real_data(name):
    if not DATA.is_dir():
        pytest.skip("real data left out: there is no shared/data beside the clone")
    rows, n_features = read_rows(DATA / name / "train.txt.xz")
    (indptr, indices, units), _ = read_rows(DATA / name / "test.txt.xz")
    queries = indptr[:101], indices[: indptr[100]], units[: indptr[100]]
    index = InvertedIndex.build(*rows, n_features)
    for beta in (0.0, 1.0):
        same(index, queries, 25, beta)


@pytest.mark.parametrize("binary", [False, True])
def test_long_rows_whose_weights_are_finer(binary):
    rng = np.random.default_rng(11)
    rows = (rng.random((700, 600)) < 0.7) * (1.0 if binary else rng.lognormal(0, 1, (700, 600)))
    rows[300:320] = rows[:20] * (1 + (rng.random((20, 600)) < 0.01) * 2.0**-20)  # near ties
    index = InvertedIndex.build(*canonical(rows), 600, frequent=0.5)
    assert index.pairs.size > 256 * index.n_rows
    queries = canonical(rows[::9] * (rng.random((78, 600)) < 0.8))
    for n_neighbors in (1, 25, 75, 700):
        for beta in (0.0, 0.5, 1.0, 2.0):
            same(index, queries, n_neighbors, beta)
