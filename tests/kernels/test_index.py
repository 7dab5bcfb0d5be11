"""The index gives back its rows, survives a store, and refuses what is damaged."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from kernels import dense
from swnn_kernels import HybridIndex, QuantisedRows, UntrustedIndex, search


def example(n_rows=700, n_features=40, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.choice([0.0, 0.0, 0.0, 1.0, -2.0], (n_rows, n_features))
    rows *= rng.random(rows.shape) < np.linspace(0.01, 1, n_features)
    canonical = dense.canonical(rows)
    canonical.quantised[:3] = 0  # a value may round to 0 and is support nevertheless
    return canonical


@pytest.mark.parametrize("frequent", [0.0, 0.1, 2.0])
def test_rows_come_back_exactly(frequent):
    rows = example()
    indptr, indices, quantised, n_features = rows
    index = HybridIndex.build(rows, frequent=frequent, fewest=1)
    index.check()
    for mine, original in zip(index.rows(), rows, strict=True):
        np.testing.assert_array_equal(mine, original)
    for row in (0, 5, 699):
        features = np.arange(0, n_features, 3)
        mine = slice(indptr[row], indptr[row + 1])
        positions, found = index.shared_features(row, features)
        at = np.flatnonzero(np.isin(features, indices[mine]))
        assert positions.tolist() == at.tolist()
        expected = quantised[mine][np.isin(indices[mine], features)]
        assert found.tolist() == expected.tolist()


def test_index_opens_memory_mapped_and_read_only(tmp_path):
    rows = example()
    index = HybridIndex.build(rows, frequent=0.1, fewest=1)
    for name, array in index.arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = {path.stem: np.load(path, mmap_mode="r") for path in tmp_path.glob("*.npy")}
    again = HybridIndex.from_arrays(mapped)
    again.check()
    assert np.shares_memory(again.stored.bitmaps, mapped["bitmaps"])
    assert again.nbytes == index.nbytes
    same_answers(index, again, dense.first_rows(rows, 19))


def same_answers(index, other, queries):
    for one, two in zip(
        search(index, queries, 5, 1.0), search(other, queries, 5, 1.0), strict=True
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("kind", [HybridIndex, UntrustedIndex])
def test_a_pickled_index_points_to_its_own_arrays(kind):
    rows = example()
    index = kind.from_arrays(HybridIndex.build(rows, frequent=0.1, fewest=1).arrays())
    queries = dense.first_rows(rows, 19)
    search(index, queries, 5, 1.0)  # caches tables of addresses
    code = """
import pickle, sys
import numpy as np
from swnn_kernels import search
index, queries, expected = pickle.load(sys.stdin.buffer)
assert not index.stored.list_rows.flags.writeable
for one, two in zip(search(index, queries, 5, 1.0), expected, strict=True):
    np.testing.assert_array_equal(one, two)
"""
    case = pickle.dumps((index, queries, search(index, queries, 5, 1.0)))
    subprocess.run([sys.executable, "-c", code], input=case, check=True)


DAMAGES = {
    "list_indptr": lambda a: a.__setitem__(3, a[3] + 10**6),
    "list_rows": lambda a: a.__setitem__(0, 10**6),
    "forward_hi": lambda a: a.__setitem__(2, a[2] ^ 60000),
    "forward_indptr": lambda a: a.__setitem__(1, -5),
    "bitmaps": lambda a: a.__setitem__((0, 0), a[0, 0] ^ np.uint64(1)),
    "frequent_features": lambda a: a.__setitem__(0, -1),
    "row_sizes": lambda a: a.__setitem__(0, a[0] + 1),
    "bitmap_indptr": lambda a: a.__setitem__(1, a[1] + 1),
    "level_small": lambda a: a.__setitem__(0, a[0] / 2),
    "level_large": lambda a: a.__setitem__(0, np.nan),
    "row_scales": lambda a: a.__setitem__(0, a[0] - 1),
    "sizes": lambda a: a.__setitem__(0, 7),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_check_finds_damage(name):
    index = HybridIndex.build(example(), frequent=0.1, fewest=1)
    arrays = {key: array.copy() for key, array in index.arrays().items()}
    DAMAGES[name](arrays[name])
    with pytest.raises(ValueError, match=r"."):
        HybridIndex.from_arrays(arrays).check()


def test_missing_or_wrong_arrays_are_named():
    arrays = HybridIndex.build(example()).arrays()
    with pytest.raises(ValueError, match="lacks the array 'bitmaps'"):
        HybridIndex.from_arrays({k: v for k, v in arrays.items() if k != "bitmaps"})
    with pytest.raises(ValueError, match="'list_indptr' must be contiguous int64"):
        HybridIndex.from_arrays(arrays | {"list_indptr": arrays["list_indptr"].astype(np.int32)})


@pytest.mark.parametrize(
    ("indptr", "indices", "quantised"),
    [
        ([0, 2], [1, 0], [1, 1]),
        ([0, 2], [1, 1], [1, 1]),
        ([0, 2], [0, 5], [1, 1]),
        ([0, 2], [-1, 0], [1, 1]),
        ([0, 1], [0], [2**23 + 1]),
        ([0, 1], [0], [-(2**31)]),
        ([0, 3], [0, 1], [1, 1]),
        ([0, 2, 1, 2], [0, 1], [1, 1]),
        ([0, 2], [0, 1], [1]),
    ],
)
def test_rows_that_are_not_canonical_are_refused(indptr, indices, quantised):
    with pytest.raises(ValueError, match="rows"):
        HybridIndex.build(
            QuantisedRows(np.array(indptr), np.array(indices), np.array(quantised), 5)
        )


def test_import_is_light():
    code = "import sys, swnn_kernels; assert 'numba' not in sys.modules; swnn_kernels.search"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_bits_of_rows_that_do_not_exist_lead_nowhere(beta):
    rows = example()
    index = HybridIndex.build(rows, frequent=0.0, fewest=1)
    assert index.stored.frequent_features.size
    arrays = index.arrays()
    damaged = UntrustedIndex.from_arrays(arrays | {"bitmaps": ~np.zeros_like(arrays["bitmaps"])})
    ids, _ = search(damaged, dense.first_rows(rows, 8), 650, beta, method="pruned")
    assert ids.max() < index.n_rows
