"""Save a model so that a crash at any moment leaves the old one or the new one."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from swnn_xp._version import __version__
from swnn_xp.store.files import StoreError, encode_names, sync_folder, write_durably
from swnn_xp.store.manifest import (
    DATA,
    FILE,
    MAX_BYTES,
    NAME,
    Entry,
    Manifest,
    encode,
    load,
)

_TEMPORARY = re.compile(r"manifest-[0-9a-f]{16}\.tmp")


def save_arrays(
    path: str | os.PathLike[str],
    arrays: Mapping[str, npt.NDArray[Any]],
    meta: Mapping[str, Any],
    names: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Save arrays, parameters and names as a model folder, in place of the one that is there.

    Parameters
    ----------
    path : str or path
        Folder of the model. It is made if it is missing; one that holds anything else than a sound
        model is refused.
    arrays : mapping of str to array
        NumPy arrays of bool, integers or floats up to 8 bytes, by names of letters, digits and
        ``_.-``. They may be mapped from the very model that is replaced.
    meta : mapping
        Parameters, of what JSON has: dict, list, str, int, finite float, bool, None.
    names : mapping of str to sequence of str, optional
        Lists of any texts, such as feature and label names.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> save_arrays(folder, {"ids": np.arange(3)}, {"alpha": 1.0}, {"labels": ["a", "b"]})
    >>> from swnn_xp.store import open_arrays
    >>> model = open_arrays(folder)
    >>> model.arrays["ids"], model.meta, model.names["labels"]
    (array([0, 1, 2]), {'alpha': 1.0}, ['a', 'b'])
    """
    folder = Path(path)
    json_meta = _as_json(meta)
    stored = {name: _storable(name, array) for name, array in arrays.items()}
    texts = {_checked_name(name): encode_names(list_) for name, list_ in (names or {}).items()}
    counts = {name: len(list_) for name, list_ in (names or {}).items()}
    with _naming(folder), _locked(folder):
        _remove_leftovers(folder, keep=_current_data(folder))
        token = secrets.token_hex(8)
        data, temporary = folder / f"data-{token}", folder / f"manifest-{token}.tmp"
        try:
            data.mkdir()
            manifest = Manifest(
                data.name,
                __version__,
                json_meta,
                {name: _save_array(data, name, array) for name, array in stored.items()},
                {name: _save_names(data, name, text, counts[name]) for name, text in texts.items()},
            )
            text = encode(manifest)
            if len(text) > MAX_BYTES:
                raise ValueError(f"meta is too long: the manifest would have {len(text)} bytes")
            write_durably(temporary, [text])
            sync_folder(data)
            sync_folder(folder)
            os.replace(temporary, folder / FILE)
        except BaseException:
            # The manifest decides what to keep: it may have been replaced just before.
            with contextlib.suppress(StoreError, OSError):
                _remove_leftovers(folder, keep=_current_data(folder))
            raise
        sync_folder(folder)
        _remove_leftovers(folder, keep=data.name)


def _as_json(meta: Mapping[str, Any]) -> dict[str, Any]:
    try:
        plain = json.loads(json.dumps(meta, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"meta can't be stored as JSON: {error}") from None
    if not isinstance(plain, dict) or plain != meta:
        raise ValueError("meta can't be stored as JSON: it would come back different")
    return plain


def _checked_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} can't name a file: letters, digits and _.- can")
    return name


def _storable(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    _checked_name(name)
    kept = np.asarray(array)
    if kept.dtype.kind not in "biuf" or kept.dtype.itemsize > 8:
        raise ValueError(f"array {name!r}: {kept.dtype} can't be stored")
    return kept


def _save_array(data: Path, name: str, array: npt.NDArray[Any]) -> Entry:
    # Made contiguous and little-endian one at a time: no second copy of all of them.
    kept = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(kept))
    file = f"{name}.npy"
    written = write_durably(data / file, [header.getvalue(), kept.reshape(-1).view("u1").data])
    return Entry(file, *written, shape=kept.shape, dtype=kept.dtype.str)


def _save_names(data: Path, name: str, text: bytes, count: int) -> Entry:
    file = f"{name}.txt"
    return Entry(file, *write_durably(data / file, [text]), n_names=count)


@contextlib.contextmanager
def _naming(folder: Path) -> Iterator[None]:
    """Let errors of writing, which have no name, name the folder."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(folder)) from None


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other saves out: each removes what it takes for the leftovers of a crash."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        if made:
            folder.mkdir(parents=True)
            sync_folder(folder.parent)
        if not folder.is_dir():
            raise StoreError(folder, "is not a folder")
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):  # where another save uses one of them
            for each in made:
                each.rmdir()
        raise


def _current_data(folder: Path) -> str | None:
    """Name of the data folder in use; a folder that is not ours to change is refused."""
    if os.path.lexists(folder / FILE):
        return load(folder).data
    for entry in os.listdir(folder):
        if not _is_leftover(entry):
            raise StoreError(folder, f"holds {entry!r} and no model: it is not replaced")
    return None


def _is_leftover(entry: str) -> bool:
    return bool(DATA.fullmatch(entry) or _TEMPORARY.fullmatch(entry))


def _remove_leftovers(folder: Path, keep: str | None) -> None:
    for entry in os.listdir(folder):
        if entry == keep or not _is_leftover(entry):
            continue
        path = folder / entry
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
