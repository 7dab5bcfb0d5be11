"""Damaged, altered, newer and foreign folders are refused by name."""

import json
import os
import shutil

import numpy as np
import pytest

from swnn_xp.store import StoreError, open_arrays, save_arrays, verify
from swnn_xp.store.manifest import _checksum


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model"
    save_arrays(path, {"a": np.arange(6, dtype=np.int32)}, {"k": 5}, {"l": ["x", "y"]})
    return path


def only(folder, pattern):
    (found,) = folder.rglob(pattern)
    return found


def refused(path, **options):
    with pytest.raises(StoreError) as caught:
        open_arrays(path, **options)
    return caught.value


def rewrite(model, change):
    """Alter the manifest as somebody who knows the checksum would."""
    path = model / "manifest.json"
    document = json.loads(path.read_text())
    document.pop("sha256")
    change(document)
    document["sha256"] = _checksum(document)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("pattern", ["manifest.json", "a.npy", "l.txt"])
def test_every_truncation_is_refused(model, pattern):
    path = only(model, pattern)
    whole = path.read_bytes()
    # The manifest's last byte is a newline that JSON does not need.
    for length in range(len(whole) - (pattern == "manifest.json")):
        path.write_bytes(whole[:length])
        assert refused(model).path == str(path)
    path.write_bytes(whole + b"x")
    assert refused(model).path == str(path)


@pytest.mark.parametrize("pattern", ["manifest.json", "a.npy", "l.txt"])
def test_a_flipped_bit_in_any_byte_is_found(model, pattern):
    path = only(model, pattern)
    whole = path.read_bytes()
    for place in range(len(whole)):
        flipped = bytes([whole[place] ^ (1 << (place % 8))])
        path.write_bytes(whole[:place] + flipped + whole[place + 1 :])
        if pattern == "manifest.json" and same_document(path.read_bytes(), whole):
            assert open_arrays(model).meta == {"k": 5}
        elif pattern == "manifest.json":
            assert refused(model).path.startswith(str(model))
        else:
            assert refused(model, verify=True).path == str(path)
    path.write_bytes(whole)
    assert verify(model) == sum(f.stat().st_size for f in only(model, "data-*").iterdir())


def same_document(text, whole):
    """White space and the case of an escape may change without changing what JSON says."""
    try:
        return json.loads(text) == json.loads(whole)
    except ValueError:
        return False


@pytest.mark.parametrize("pattern", ["a.npy", "l.txt", "manifest.json"])
def test_missing_files(model, pattern):
    path = only(model, pattern)
    path.unlink()
    error = refused(model)
    assert (error.path, error.what) == (str(path), "is missing")


def test_a_missing_data_folder(model):
    shutil.rmtree(only(model, "data-*"))
    assert "can't be opened: No such file" in str(refused(model))


@pytest.mark.parametrize("version", [1, 3])
def test_another_version(model, version):
    rewrite(model, lambda d: d.update(format_version=version, library_version="9.9", new="thing"))
    said = f"has format version {version}, written by swnn_xp 9.9; this one reads 2"
    assert said in str(refused(model))
    with pytest.raises(StoreError, match=f"has format version {version}"):
        save_arrays(model, {}, {})


@pytest.mark.parametrize("version", [0, -1, "1", None, 1.0, True])
def test_versions_that_are_none(model, version):
    rewrite(model, lambda d: d.update(format_version=version))
    assert "is not a version" in str(refused(model))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"format": "other"}', "[" * 100_000, '{"a":' * 100_000, "NaN", "\xff",
     '{"format": "swnn-store", "format_version": 2, "x": NaN}', "9" * 10_000],
)  # fmt: skip
def test_foreign_manifests(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text, encoding="latin-1")
    assert refused(tmp_path).path == str(tmp_path / "manifest.json")
    with pytest.raises(StoreError):
        save_arrays(tmp_path, {}, {})
    assert (tmp_path / "manifest.json").read_text(encoding="latin-1") == text


def test_a_manifest_that_never_ends(tmp_path):
    with (tmp_path / "manifest.json").open("wb") as file:
        file.truncate(1 << 33)
    assert "is longer than" in str(refused(tmp_path))


def test_a_folder_with_other_data_holds_no_model(tmp_path):
    (tmp_path / "data-of-2025").mkdir()
    assert str(refused(tmp_path)) == f"{tmp_path}: holds no model: there is no manifest.json in it"


def test_foreign_folders_are_not_overwritten(tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    assert str(refused(tmp_path)) == f"{tmp_path}: holds no model: there is no manifest.json in it"
    with pytest.raises(StoreError, match=r"holds 'thesis.tex' and no model"):
        save_arrays(tmp_path, {}, {})
    with pytest.raises(StoreError, match="is not a folder"):
        save_arrays(tmp_path / "thesis.tex", {}, {})
    assert "is not a folder" in str(refused(tmp_path / "thesis.tex"))
    assert "does not exist" in str(refused(tmp_path / "none"))
    assert os.listdir(tmp_path) == ["thesis.tex"]


def set_array(key, value):
    return lambda d: d["arrays"]["a"].update({key: value})


@pytest.mark.parametrize(
    "change",
    [
        set_array("file", "../../secret.npy"),
        set_array("file", "/etc/passwd"),
        set_array("file", "b.npy"),
        set_array("shape", [-6]),
        set_array("shape", [6.0]),
        set_array("shape", "6"),
        set_array("shape", [2**63]),
        set_array("dtype", "|O"),
        set_array("dtype", "<U4"),
        set_array("dtype", [["a", "<i4"]]),
        set_array("bytes", -1),
        set_array("bytes", True),
        set_array("sha256", "0"),
        lambda d: d["arrays"].update({"../a": d["arrays"].pop("a") | {"file": "../a.npy"}}),
        lambda d: d["arrays"]["a"].pop("shape"),
        lambda d: d.update(arrays=[]),
        lambda d: d.update(names=None),
        lambda d: d.update(meta=[]),
        lambda d: d.update(data="../elsewhere"),
        lambda d: d.update(data="data-"),
        lambda d: d.pop("data"),
        lambda d: d.update(library_version=3),
        lambda d: d["names"]["l"].update(count="2"),
    ],
)
def test_malformed_entries(model, change):
    rewrite(model, change)
    assert "manifest.json: is malformed" in str(refused(model))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (set_array("shape", [3, 2]), "where the manifest says <i4 of shape \\(3, 2\\)"),
        (set_array("dtype", "<f4"), "holds <i4 of shape \\(6,\\) where the manifest says <f4"),
        (set_array("shape", [2**40]), "where the manifest says"),
    ],
)
def test_headers_that_differ_from_the_manifest(model, change, what):
    rewrite(model, change)
    with pytest.raises(StoreError, match=what):
        open_arrays(model)


def test_a_header_that_needs_more_bytes_than_there_are(model):
    path = only(model, "a.npy")
    path.write_bytes(path.read_bytes().replace(b"(6,), }    ", b"(60000,), }"))
    rewrite(model, set_array("shape", [60000]))
    assert refused(model).what == "has 152 bytes where its header needs 240128"


def test_no_pickles(model):
    path = only(model, "a.npy")
    np.save(path, np.array([print], dtype=object), allow_pickle=True)
    rewrite(model, set_array("bytes", path.stat().st_size))
    assert "holds |O of shape (1,)" in str(refused(model))


@pytest.mark.parametrize("pattern", ["a.npy", "l.txt", "manifest.json", "data-*"])
def test_links_are_not_followed(model, tmp_path, pattern):
    path = only(model, pattern)
    path.rename(tmp_path / "outside")
    path.symlink_to(tmp_path / "outside")
    assert refused(model).path == str(path)


def test_pipes_are_refused_without_waiting(model):
    path = only(model, "a.npy")
    path.unlink()
    os.mkfifo(path)
    assert "is not a regular file" in str(refused(model))


@pytest.mark.parametrize("text", [b"x\ny", b"x\n\n\n", b"\\q\ny\n"[:4], b"\xff\ny\n"])
def test_altered_names_are_refused_when_they_are_used(model, text):
    path = only(model, "l.txt")
    path.write_bytes(text)
    rewrite(model, lambda d: d["names"]["l"].update(bytes=len(text)))
    stored = open_arrays(model)
    with pytest.raises(StoreError) as caught:
        stored.names["l"]
    assert caught.value.path == str(path)
