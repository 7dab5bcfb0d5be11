"""What is written reads back the same, or leaves the old file."""

import errno
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import coo_array, csr_array, csr_matrix, random_array

from swnn_xp.io import read_names, read_xmc, write_names, write_xmc


def same(A, B):
    assert A.shape == B.shape
    np.testing.assert_array_equal(A.indptr, B.indptr)
    np.testing.assert_array_equal(A.indices, B.indices)
    assert A.data.tobytes() == B.data.tobytes()


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz"])
def test_round_trip(tmp_path, name):
    rng = np.random.default_rng(0)
    X = random_array((9000, 50), density=0.05, rng=rng, format="csr", dtype=np.float32)
    Y = random_array((9000, 20), density=0.05, rng=rng, format="csr") != 0
    write_xmc(tmp_path / name, X, Y)
    for strict in (False, True):
        x, y = read_xmc(tmp_path / name, strict=strict)
        same(x, X)
        same(y, csr_array(Y))
    magic = (tmp_path / name).read_bytes()[:2]
    assert {b"90": "a.txt", b"\x1f\x8b": "a.txt.gz", b"\xfd7": "a.txt.xz"}[magic] == name
    assert os.listdir(tmp_path) == [name]


FINITE32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(deadline=None)
@given(hnp.arrays(np.float32, st.integers(1, 30), elements=FINITE32))
def test_every_float32_comes_back(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("w") / "a.txt"
    X = csr_array((values, np.arange(len(values)), [0, len(values)]), shape=(1, len(values)))
    write_xmc(path, X, csr_array((1, 1)))
    same(read_xmc(path, strict=True)[0], X)


@settings(deadline=None)
@given(hnp.arrays(np.float64, 5, elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_every_float64_comes_back(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("w") / "a.txt"
    X = csr_array((values, np.arange(5), [0, 5]), shape=(1, 5))
    write_xmc(path, X, csr_array((1, 1)))
    same(read_xmc(path, strict=True, dtype=np.float64)[0], X)


def test_random_bit_patterns_come_back(tmp_path):
    bits = np.random.default_rng(1).integers(0, 2**32, 200_000, dtype=np.uint32)
    values = bits.view(np.float32)
    values = values[np.isfinite(values)]
    X = csr_array((values, np.arange(len(values)), [0, len(values)]), shape=(1, len(values)))
    write_xmc(tmp_path / "a.txt", X, csr_array((1, 1)))
    same(read_xmc(tmp_path / "a.txt")[0], X)


def test_kinds_of_input(tmp_path):
    path = tmp_path / "a.txt"
    coo = coo_array(([1, 2, 3], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    write_xmc(path, coo, csr_matrix([[0, 2], [0, 0]]))
    assert path.read_text() == "2 2 2\n1 1:3\n 0:3\n"
    assert coo.nnz == 3
    write_xmc(path, np.eye(2, dtype=bool), [[0], [1]])
    assert path.read_text() == "2 2 1\n 0:1\n0 1:1\n"
    write_xmc(path, np.zeros((0, 3)), np.zeros((0, 2)))
    assert path.read_text() == "0 3 2\n"
    assert read_xmc(path)[0].shape == (0, 3)


def test_refusals_leave_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ValueError, match="X has 2 rows and y has 1"):
        write_xmc(path, np.eye(2), [[1]])
    with pytest.raises(ValueError, match="X, row 1: inf"):
        write_xmc(path, [[1.0], [np.inf]], [[1], [1]])
    with pytest.raises(ValueError, match="complex128"):
        write_xmc(path, [[1j]], [[1]])
    with pytest.raises(ValueError, match="line break"):
        write_names(path, ["a", "b\rc"])
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, step):
    def fail(*_):
        raise OSError(errno.ENOSPC, "no space left")

    path = tmp_path / "a.txt"
    path.write_text("old")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space"):
        write_xmc(path, np.eye(2), np.eye(2))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_writing_through_a_link_keeps_the_link(tmp_path):
    (tmp_path / "link").symlink_to("real.txt")
    write_names(tmp_path / "link", ["a"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "a\n"


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]))))
def test_names_come_back(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("n") / "names.txt"
    if names and names[0].startswith("\ufeff"):
        with pytest.raises(ValueError, match="byte-order"):
            write_names(path, names)
    else:
        write_names(path, names)
        assert read_names(path) == names


def test_names_of_other_hands(make):
    assert read_names(make(b"\xef\xbb\xbfa\r\nb\x0b\n\nc")) == ["a", "b\x0b", "", "c"]
    path = make(b"a\nb\xe9\n")
    with pytest.raises(ValueError, match=r":2: byte 0xe9 is not utf-8"):
        read_names(path)
    assert read_names(path, encoding="latin-1") == ["a", "bé"]
