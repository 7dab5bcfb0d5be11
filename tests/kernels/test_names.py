"""Labels by name: the kernel and its array-API twin against a dozen lines, with ties on purpose."""

import numpy as np
import oracle
import pytest

from swnn_kernels.learn.names import LeftOut, Names, count_holders, match_names
from swnn_kernels.records import QuantisedRows
from swnn_xp.learn.label_names import match_block

LISTED = 12


def slow(*given):
    return list(oracle.named(*given, most=LISTED).items())


def problem(seed, n_names=120, n_features=30, n_labels=60, longest=5):
    """Names that share few features, so that many match and many tie; rows with labels."""
    rng = np.random.default_rng(seed)
    names = [
        (int(label), sorted(rng.choice(n_features + 4, int(size), False).tolist()))
        for label, size in rng.integers([0, 0], [n_labels, longest + 1], (n_names, 2))
    ]
    rows = []
    for size in rng.integers(0, 16, 40):
        features = sorted(rng.choice(n_features, size, False).tolist())
        values = rng.choice([0, 1, 2**20, 2**21, 3 * 2**21], size).tolist()
        rows.append(dict(zip(features, values, strict=True)))
    truth = [sorted(rng.choice(n_labels, rng.integers(0, 9), False).tolist()) for _ in rows]
    idf = rng.choice([4096, 4097, 9000, 30000], n_features).astype(np.int32)
    return names, rows, truth, idf


def pointers(lists):
    flat = np.asarray([value for one in lists for value in one], np.int32)
    return np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64), flat


def prepared(names, rows, truth, idf, n_labels=60, unknown=31000):
    indptr, indices = pointers(rows)
    values = np.asarray([value for row in rows for value in row.values()], np.int32)
    queries = QuantisedRows(indptr, indices, values, idf.size)
    counts = np.bincount(pointers(truth)[1], minlength=n_labels)
    given = pointers([features for _, features in names]), [label for label, _ in names], idf
    bare = Names.prepare(*given, unknown, counts)
    reliability = count_holders(bare, queries, pointers(truth))
    return Names.prepare(*given, unknown, counts, reliability, LISTED), queries, counts, reliability


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
    wanted = [slow(names, idf.tolist(), 31000, counts, reliability, row) for row in rows]
    assert found == wanted
    assert max(map(len, wanted)) == LISTED  # more labels are named than listed


@pytest.mark.parametrize("seed", range(8))
def test_twin_gives_the_same_bits(seed):
    names, rows, truth, idf = problem(seed, longest=1 + seed % 6)
    ready, queries, *_ = prepared(names, rows, truth, idf)
    kernel, twin = match_names(ready, queries), match_block(ready, queries)
    assert np.array_equal(kernel.labels, twin.labels)
    assert np.array_equal(kernel.bins, twin.bins)
    assert kernel.labels.dtype == twin.labels.dtype


@pytest.mark.parametrize("seed", range(4))
def test_training_rows_are_left_out(seed):
    names, rows, truth, idf = problem(seed, longest=2)
    rows[7], truth[7] = rows[3], truth[3]
    ready, queries, counts, reliability = prepared(names, rows, truth, idf)
    copies = np.asarray([1 + (i in (3, 7)) for i in range(len(rows))])
    found = as_lists(match_names(ready, queries, LeftOut(copies, *pointers(truth)), n_jobs=2))
    for i, (row, own) in enumerate(zip(rows, truth, strict=True)):
        wanted = slow(names, idf.tolist(), 31000, counts, reliability, row, own, int(copies[i]))
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
    ("names", "rows"), [([], [{0: 1}]), ([(0, [0])], []), ([(0, [0])], [{}]), ([(0, [])], [{0: 1}])]
)
def test_empty_problems(names, rows):
    ready, queries, *_ = prepared(names, rows, [[] for _ in rows], np.asarray([4096], np.int32))
    for found in (match_names(ready, queries), match_block(ready, queries)):
        assert found.labels.shape == (len(rows), LISTED)
        assert (np.asarray(found.labels) == -1).all()


def test_a_name_as_long_as_a_text_is_refused():
    rows = np.asarray([0, 1, 300_001]), np.arange(-1, 300_000).clip(0)
    idf, counts = np.full(300_000, 9000, np.int32), np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="name 1 has 300000 features"):
        Names.prepare(rows, np.zeros(2, np.int32), idf, 9000, counts)
