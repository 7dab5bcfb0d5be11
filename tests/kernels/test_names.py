"""Labels by name: the kernel and its array-API twin against a dozen lines, with ties on purpose."""

from fractions import Fraction

import numpy as np
import pytest

from swnn_kernels.learn.names import (
    COUNT_EDGES,
    MATCHED_EDGES,
    RELIABILITY,
    LeftOut,
    Names,
    count_holders,
    match_names,
)
from swnn_kernels.records import QuantisedRows
from swnn_xp.learn.label_names import match_block


def slow(names, idf, unknown, counts, reliability, query, own=None, copies=0):
    """(label, bins) of the best labels, from the definition; names are (label, features)."""
    holders, right, prior = reliability
    best = {}
    for i, (label, features) in enumerate(names):
        whole = sum(int(idf[f]) if f < idf.size else unknown for f in features)
        matched = sum(int(idf[f]) for f in features if f in query)
        if matched and Fraction(matched, whole) >= Fraction(3, 5):
            key = (-(matched * matched // whole), i)
            best[label] = min(best.get(label, ((1, 0), 0)), (key, (matched, whole, i)))
    ranked = sorted((key[0], label, found) for label, (key, found) in best.items())[:20]
    listed = []
    for _, label, (matched, whole, i) in ranked:
        mine = copies if own is not None and label in own else 0
        rows = sum(counts[label] - mine >= edge for edge in COUNT_EDGES)
        part = sum(Fraction(matched, whole) >= Fraction(e, 100) for e in (70, 85, 100))
        all_of_it = matched == whole
        n, hits = holders[i] - copies * all_of_it, right[i] - mine * all_of_it
        sure = (hits * 2**12 + 2 * prior) // (n + 2)
        size = sum(matched >= e * 2**12 for e in MATCHED_EDGES)
        bins = [
            1 + part * 7 + rows,
            1 + size * 7 + rows,
            1 + sum(sure >= e for e in RELIABILITY),
            min(len(names[i][1]), 6),
        ]
        listed.append((label, bins))
    return listed


def problem(seed, n_names=120, n_features=30, n_labels=60, longest=5):
    """Names that share few features, so that many match and many tie; rows with labels."""
    rng = np.random.default_rng(seed)
    names = [
        (int(label), sorted(rng.choice(n_features + 4, int(size), False).tolist()))
        for label, size in rng.integers([0, 0], [n_labels, longest + 1], (n_names, 2))
    ]
    rows = [sorted(rng.choice(n_features, rng.integers(0, 16), False).tolist()) for _ in range(40)]
    truth = [sorted(rng.choice(n_labels, rng.integers(0, 9), False).tolist()) for _ in rows]
    idf = rng.choice([4096, 4097, 9000, 30000], n_features).astype(np.int32)
    return names, rows, truth, idf


def pointers(lists):
    flat = np.asarray([value for one in lists for value in one], np.int32)
    return np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64), flat


def prepared(names, rows, truth, idf, n_labels=60, unknown=31000):
    indptr, indices = pointers(rows)
    queries = QuantisedRows(indptr, indices, np.zeros(indices.size, np.int32), idf.size)
    counts = np.bincount(pointers(truth)[1], minlength=n_labels)
    given = pointers([features for _, features in names]), [label for label, _ in names], idf
    bare = Names.prepare(*given, unknown, counts)
    reliability = count_holders(bare, queries, pointers(truth))
    return Names.prepare(*given, unknown, counts, reliability), queries, counts, reliability


def as_lists(found):
    return [
        [(label, bins) for label, bins in zip(*row, strict=True) if label >= 0]
        for row in zip(found.labels.tolist(), found.bins.tolist(), strict=True)
    ]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_kernel_equals_the_definition(seed, n_jobs):
    names, rows, truth, idf = problem(seed, longest=1 + seed % 6)
    ready, queries, counts, reliability = prepared(names, rows, truth, idf)
    found = as_lists(match_names(ready, queries, n_jobs=n_jobs))
    wanted = [slow(names, idf, 31000, counts, reliability, set(row)) for row in rows]
    assert found == wanted
    assert max(map(len, wanted)) == 20  # more labels are named than listed


@pytest.mark.parametrize("seed", range(8))
def test_twin_gives_the_same_bits(seed):
    names, rows, truth, idf = problem(seed, longest=1 + seed % 6)
    ready, queries, *_ = prepared(names, rows, truth, idf)
    kernel, twin = match_names(ready, queries), match_block(ready, queries)
    assert np.array_equal(kernel.labels, twin.labels)
    assert np.array_equal(kernel.bins, twin.bins)
    assert kernel.labels.dtype == twin.labels.dtype
    assert kernel.bins.dtype == twin.bins.dtype


@pytest.mark.parametrize("seed", range(4))
def test_training_rows_are_left_out(seed):
    names, rows, truth, idf = problem(seed, longest=2)
    rows[7], truth[7] = rows[3], truth[3]
    ready, queries, counts, reliability = prepared(names, rows, truth, idf)
    copies = np.asarray([1 + (i in (3, 7)) for i in range(len(rows))])
    found = as_lists(match_names(ready, queries, LeftOut(copies, *pointers(truth)), n_jobs=2))
    for i, (row, own) in enumerate(zip(rows, truth, strict=True)):
        wanted = slow(names, idf, 31000, counts, reliability, set(row), own, int(copies[i]))
        assert found[i] == wanted


def test_holders_are_counted():
    names, rows, truth, idf = problem(5, longest=2)
    _, _, _, (holders, right, prior) = prepared(names, rows, truth, idf)
    for i, (label, features) in enumerate(names):
        held = [j for j, row in enumerate(rows) if features and set(features) <= set(row)]
        assert holders[i] == len(held)
        assert right[i] == sum(label in truth[j] for j in held)
    assert prior == int(right.sum()) * 4096 // int(holders.sum())


@pytest.mark.parametrize(
    ("names", "rows"), [([], [[0]]), ([(0, [0])], []), ([(0, [0])], [[]]), ([(0, [])], [[0]])]
)
def test_empty_problems(names, rows):
    ready, queries, *_ = prepared(names, rows, [[] for _ in rows], np.asarray([4096], np.int32))
    for found in (match_names(ready, queries), match_block(ready, queries)):
        assert found.labels.shape == (len(rows), 20)
        assert (np.asarray(found.labels) == -1).all()


def test_a_name_as_long_as_a_text_is_refused():
    rows = np.asarray([0, 1, 300_001]), np.arange(-1, 300_000).clip(0)
    idf, counts = np.full(300_000, 9000, np.int32), np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="name 1 has 300000 features"):
        Names.prepare(rows, np.zeros(2, np.int32), idf, 9000, counts)
