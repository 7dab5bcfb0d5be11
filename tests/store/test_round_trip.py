"""What is saved comes back, mapped or read."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swnn_xp.store import open_arrays, save_arrays, verify
from swnn_xp.store.files import decode_names, encode_names

ARRAYS = {
    "indptr": np.arange(5, dtype=np.int64),
    "values": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4),
    "flags": np.array([True, False]),
    "bytes": np.arange(7, dtype=np.uint8),
    "empty": np.empty((0, 3), np.int32),
    "one": np.array(2.5),
    "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "big-endian": np.arange(3, dtype=">i4"),
    "strided": np.arange(10, dtype=np.uint16)[::3],
}
META = {"alpha": 1.0, "n": 3, "name": "é", "list": [1, None, True], "tiny": 5e-324}
NAMES = {"labels": ["a", "", "b\nc", "\\n", "ü\r", "x\\"], "none": []}


def data_folder(path):
    (found,) = path.glob("data-*")
    return found


@pytest.mark.parametrize("mmap", [True, False])
def test_everything_comes_back(tmp_path, mmap):
    save_arrays(tmp_path / "m", ARRAYS, META, NAMES)
    model = open_arrays(tmp_path / "m", mmap=mmap, verify=True)
    assert list(model.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        found = model.arrays[name]
        assert type(found) is np.ndarray
        assert found.dtype == array.dtype.newbyteorder("<")
        assert found.shape == array.shape
        np.testing.assert_array_equal(found, array)
        assert found.flags.aligned
        assert found.flags.c_contiguous
        assert found.flags.writeable is not mmap
    assert model.meta == META
    assert dict(model.names) == NAMES
    assert verify(tmp_path / "m") == sum(
        f.stat().st_size for f in data_folder(tmp_path / "m").iterdir()
    )


def test_the_arrays_are_plain_npy_files(tmp_path):
    save_arrays(tmp_path, ARRAYS, META)
    for name, array in ARRAYS.items():
        loaded = np.load(data_folder(tmp_path) / f"{name}.npy", allow_pickle=False)
        np.testing.assert_array_equal(loaded, array)


def test_mapped_arrays_are_not_read(tmp_path):
    """A mapped file is not in the process's memory before it is used."""
    save_arrays(tmp_path, {"a": np.ones(1 << 24)}, {})
    before = resident()
    model = open_arrays(tmp_path)
    assert resident() - before < 1 << 24
    assert model.arrays["a"][-1] == 1


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_a_model_is_replaced_while_it_is_open(tmp_path):
    save_arrays(tmp_path, {"a": np.arange(3)}, {"v": 1}, {"l": ["old"]})
    old = open_arrays(tmp_path)
    save_arrays(tmp_path, {"b": old.arrays["a"] + 1}, {"v": 2}, {"l": ["new"]})
    assert old.arrays["a"].tolist() == [0, 1, 2]
    assert old.names["l"] == ["old"]
    new = open_arrays(tmp_path)
    assert new.meta == {"v": 2}
    assert {name: array.tolist() for name, array in new.arrays.items()} == {"b": [1, 2, 3]}
    assert sorted(os.listdir(tmp_path)) == [data_folder(tmp_path).name, "manifest.json"]


def test_a_save_between_manifest_and_arrays_is_followed(tmp_path, monkeypatch):
    from swnn_xp.store import opening

    save_arrays(tmp_path, {"a": np.arange(3)}, {"v": 1})
    real = opening.load
    pending = [lambda: save_arrays(tmp_path, {"a": np.arange(4)}, {"v": 2})]

    def load_then_save(folder):
        manifest = real(folder)
        if pending:
            pending.pop()()
        return manifest

    monkeypatch.setattr(opening, "load", load_then_save)
    assert open_arrays(tmp_path).meta == {"v": 2}


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_any_names_come_back(names):
    assert decode_names(encode_names(names), len(names)) == names


@pytest.mark.parametrize(
    ("arrays", "meta", "names", "what"),
    [
        ({"a": np.array([object()])}, {}, {}, "array 'a': object can't be stored"),
        ({"a": np.array(["x"])}, {}, {}, "can't be stored"),
        ({"a": np.array([1j])}, {}, {}, "can't be stored"),
        ({"../a": np.arange(3)}, {}, {}, "can't name a file"),
        ({".a": np.arange(3)}, {}, {}, "can't name a file"),
        ({"": np.arange(3)}, {}, {}, "can't name a file"),
        ({}, {"x": float("nan")}, {}, "meta can't be stored"),
        ({}, {"x": np.arange(2)}, {}, "meta can't be stored"),
        ({}, {1: 2}, {}, "come back different"),
        ({}, {"x": (1, 2)}, {}, "come back different"),
        ({}, {}, {"a/b": []}, "can't name a file"),
        ({}, {}, {"l": ["a", 3]}, "name 1 is not a text"),
        ({}, {}, {"l": ["\ud800"]}, "not valid Unicode"),
        ({}, {"x": "y" * (1 << 24)}, {}, "meta is too long"),
    ],
)
def test_what_cannot_be_stored_leaves_the_old_model(tmp_path, arrays, meta, names, what):
    save_arrays(tmp_path, {"a": np.arange(3)}, {"v": 1})
    with pytest.raises(ValueError, match=what):
        save_arrays(tmp_path, arrays, meta, names)
    assert open_arrays(tmp_path, verify=True).meta == {"v": 1}
    assert len(os.listdir(tmp_path)) == 2
