"""The index gives back its rows, survives a store, and refuses what is damaged."""

import subprocess
import sys

import numpy as np
import pytest

from kernels import oracle
from swnn_kernels import InvertedIndex, OpenedIndex, normalise, search


def example(n_rows=700, n_features=40, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.choice([0.0, 0.0, 0.0, 1.0, -2.0], (n_rows, n_features))
    rows *= rng.random(rows.shape) < np.linspace(0.01, 1, n_features)
    indptr, indices, values = oracle.sparse(rows)
    units = normalise(indptr, indices, values)
    units[:3] = 0  # a value may round to 0 and is support nevertheless
    return indptr, indices, units, n_features


@pytest.mark.parametrize("frequent", [0.0, 0.1, 2.0])
def test_rows_come_back_exactly(frequent):
    indptr, indices, units, n_features = example()
    index = InvertedIndex.build(indptr, indices, units, n_features, frequent=frequent, fewest=1)
    index.check()
    for mine, original in zip(index.rows(), (indptr, indices, units), strict=True):
        np.testing.assert_array_equal(mine, original)
    for row in (0, 5, 699):
        features = np.arange(0, n_features, 3)
        mine = slice(indptr[row], indptr[row + 1])
        positions, found = index.shared(row, features)
        at = np.flatnonzero(np.isin(features, indices[mine]))
        assert positions.tolist() == at.tolist()
        expected = units[mine][np.isin(indices[mine], features)]
        assert found.tolist() == expected.tolist()


def test_index_opens_memory_mapped_and_read_only(tmp_path):
    indptr, indices, units, n_features = example()
    index = InvertedIndex.build(indptr, indices, units, n_features, frequent=0.1, fewest=1)
    for name, array in index.arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = {path.stem: np.load(path, mmap_mode="r") for path in tmp_path.glob("*.npy")}
    again = InvertedIndex.from_arrays(mapped)
    again.check()
    assert np.shares_memory(again.bits, mapped["bits"])
    assert again.nbytes == index.nbytes
    queries = indptr[:20], indices[: indptr[19]], units[: indptr[19]]
    for one, two in zip(
        search(index, *queries, 5, 1.0), search(again, *queries, 5, 1.0), strict=True
    ):
        np.testing.assert_array_equal(one, two)


DAMAGES = {
    "starts": lambda a: a.__setitem__(3, a[3] + 10**6),
    "rows": lambda a: a.__setitem__(0, 10**6),
    "pairs": lambda a: a.__setitem__(2, a[2] ^ 60000),
    "ends": lambda a: a.__setitem__(1, -5),
    "bits": lambda a: a.__setitem__((0, 0), a[0, 0] ^ np.uint64(1)),
    "frequent": lambda a: a.__setitem__(0, -1),
    "row_sizes": lambda a: a.__setitem__(0, a[0] + 1),
    "firsts": lambda a: a.__setitem__(1, a[1] + 1),
    "small": lambda a: a.__setitem__(0, a[0] / 2),
    "large": lambda a: a.__setitem__(0, np.nan),
    "scales": lambda a: a.__setitem__(0, a[0] - 1),
    "sizes": lambda a: a.__setitem__(0, 7),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_check_finds_damage(name):
    index = InvertedIndex.build(*example(), frequent=0.1, fewest=1)
    arrays = {key: array.copy() for key, array in index.arrays().items()}
    DAMAGES[name](arrays[name])
    with pytest.raises(ValueError, match=r"."):
        InvertedIndex.from_arrays(arrays).check()


def test_missing_or_wrong_arrays_are_named():
    arrays = InvertedIndex.build(*example()).arrays()
    with pytest.raises(ValueError, match="lacks the array 'bits'"):
        InvertedIndex.from_arrays({k: v for k, v in arrays.items() if k != "bits"})
    with pytest.raises(ValueError, match="'starts' must be contiguous int64"):
        InvertedIndex.from_arrays(arrays | {"starts": arrays["starts"].astype(np.int32)})


@pytest.mark.parametrize(
    ("indptr", "indices", "units"),
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
def test_rows_that_are_not_canonical_are_refused(indptr, indices, units):
    with pytest.raises(ValueError, match="rows"):
        InvertedIndex.build(np.array(indptr), np.array(indices), np.array(units), 5)


def test_import_is_light():
    code = "import sys, swnn_kernels; assert 'numba' not in sys.modules; swnn_kernels.search"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_bits_of_rows_that_do_not_exist_lead_nowhere(beta):
    indptr, indices, units, n_features = example()
    index = InvertedIndex.build(indptr, indices, units, n_features, frequent=0.0, fewest=1)
    assert index.frequent.size
    arrays = index.arrays()
    damaged = OpenedIndex.from_arrays(arrays | {"bits": ~np.zeros_like(arrays["bits"])})
    queries = indptr[:9], indices[: indptr[8]], units[: indptr[8]]
    ids, _ = search(damaged, *queries, 650, beta, method="pruned")
    assert ids.max() < index.n_rows
