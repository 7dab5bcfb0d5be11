"""The manifest: what a stored model consists of, as JSON that vouches for itself."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from swnn_xp.store.files import StoreError, open_regular

FORMAT = "swnn-store"
VERSION = 2
FILE = "manifest.json"
MAX_BYTES = 1 << 24

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
DATA = re.compile(r"data-[0-9a-f]{16}")
_DTYPES = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Entry(NamedTuple):
    """One file of the data folder; `shape` and `dtype` for arrays, `n_names` for lists of names."""

    file: str
    bytes: int
    sha256: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    n_names: int = 0


class Manifest(NamedTuple):
    """Everything that is known of a model without opening its arrays."""

    data: str
    library_version: str
    meta: dict[str, Any]
    arrays: dict[str, Entry]
    names: dict[str, Entry]


def encode(manifest: Manifest) -> bytes:
    """Write a manifest as JSON, with a checksum of itself."""
    document = {
        "format": FORMAT,
        "format_version": VERSION,
        "library_version": manifest.library_version,
        "data": manifest.data,
        "meta": manifest.meta,
        "arrays": {
            name: {
                "file": entry.file,
                "shape": list(entry.shape),
                "dtype": entry.dtype,
                "bytes": entry.bytes,
                "sha256": entry.sha256,
            }
            for name, entry in manifest.arrays.items()
        },
        "names": {
            name: {
                "file": entry.file,
                "count": entry.n_names,
                "bytes": entry.bytes,
                "sha256": entry.sha256,
            }
            for name, entry in manifest.names.items()
        },
    }
    document["sha256"] = _checksum(document)
    return json.dumps(document, indent=1, allow_nan=False).encode("ascii") + b"\n"


def load(folder: Path) -> Manifest:
    """Read and check the manifest of a folder."""
    path = folder / FILE
    document = _read(folder)
    version = document.get("format_version")
    if type(version) is not int or version < 1:
        raise StoreError(path, f"format_version {version!r} is not a version")
    if version != VERSION:
        library = document.get("library_version")
        raise StoreError(
            path,
            f"has format version {version}, written by swnn_xp {library}; this one reads {VERSION}",
        )
    if document.pop("sha256", None) != _checksum(document):
        raise StoreError(path, "was altered: its checksum does not match")
    try:
        return _decode(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(path, f"is malformed: {error!r}") from None


def _read(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    if not folder.is_dir():
        raise StoreError(folder, "is not a folder" if folder.exists() else "does not exist")
    if not os.path.lexists(path) and not any(map(DATA.fullmatch, os.listdir(folder))):
        raise StoreError(folder, f"holds no model: there is no {FILE} in it")
    with open_regular(path) as file:
        text = file.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise StoreError(path, f"is longer than {MAX_BYTES} bytes")
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise StoreError(path, "is nested too deeply") from None
    except ValueError as error:
        raise StoreError(path, f"is not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise StoreError(path, f"is not a manifest of the format {FORMAT}")
    return document


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _checksum(document: dict[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _decode(document: dict[str, Any]) -> Manifest:
    data, version, meta = document["data"], document["library_version"], document["meta"]
    _require(isinstance(version, str), "library_version")
    _require(isinstance(meta, dict), "meta")
    _require(isinstance(data, str) and DATA.fullmatch(data), f"data folder {data!r}")
    arrays = {name: _array(name, entry) for name, entry in document["arrays"].items()}
    names = {name: _names(name, entry) for name, entry in document["names"].items()}
    return Manifest(data, version, meta, arrays, names)


def _array(name: str, entry: dict[str, Any]) -> Entry:
    shape, dtype = entry["shape"], entry["dtype"]
    _require(isinstance(shape, list) and all(map(_is_count, shape)), f"{name}: shape {shape!r}")
    _require(isinstance(dtype, str) and _DTYPES.fullmatch(dtype), f"{name}: dtype {dtype!r}")
    return _file(name, entry, ".npy")._replace(shape=tuple(shape), dtype=dtype)


def _names(name: str, entry: dict[str, Any]) -> Entry:
    _require(_is_count(entry["count"]), f"{name}: count {entry['count']!r}")
    return _file(name, entry, ".txt")._replace(n_names=entry["count"])


def _file(name: str, entry: dict[str, Any], suffix: str) -> Entry:
    file, size, checksum = entry["file"], entry["bytes"], entry["sha256"]
    # The name alone decides the file: nothing outside the data folder can be meant.
    _require(NAME.fullmatch(name) and file == name + suffix, f"{name!r}: file {file!r}")
    _require(_is_count(size), f"{name}: bytes {size!r}")
    _require(isinstance(checksum, str) and _SHA256.fullmatch(checksum), f"{name}: {checksum!r}")
    return Entry(file, size, checksum)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _require(holds: object, what: str) -> None:
    if not holds:
        raise ValueError(what)
