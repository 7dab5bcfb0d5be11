"""Open and verify stored models."""

from __future__ import annotations

import mmap as mapping
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from swnn_xp.store.files import (
    LazyNames,
    MappedFiles,
    StoreError,
    check_file,
    decode_names,
    open_regular,
)
from swnn_xp.store.manifest import Entry, Manifest, load


@dataclass(frozen=True)
class StoredModel:
    """What `save_arrays` saved."""

    arrays: dict[str, npt.NDArray[Any]]
    """Read-only where they are mapped."""
    meta: dict[str, Any]
    names: Mapping[str, list[str]]
    """Decoded on first use."""
    library_version: str
    """Of the library that wrote it."""
    n_names: dict[str, int]
    """Lengths of the lists of names."""
    mapped: MappedFiles
    """The files that arrays and names are mapped from."""


def open_arrays(
    path: str | os.PathLike[str], *, mmap: bool = True, verify: bool = False
) -> StoredModel:
    """Open a model folder.

    Sizes, types and shapes are checked against the manifest, and the manifest against its own
    checksum. Nothing in the folder is ever run as code.

    Parameters
    ----------
    path : str or path
        Folder of the model.
    mmap : bool, default True
        Map the arrays, read-only: only what is used is read from the disk, and processes share it.
        Otherwise they are read into memory and may be changed.
    verify : bool, default False
        Check every file's checksum too, which reads them all.

    Returns
    -------
    StoredModel

    Raises
    ------
    StoreError
        A ValueError that names the file and what is wrong with it.

    Examples
    --------
    >>> open_arrays("no/such/model")
    Traceback (most recent call last):
    swnn_xp.store.files.StoreError: no/such/model: does not exist
    """
    folder = Path(path)
    while True:
        manifest = load(folder)
        try:
            return _open(folder, manifest, mmap=mmap, verify=verify)
        except StoreError:
            # A save may have replaced the model in between; the same manifest is a real fault.
            if load(folder).data == manifest.data:
                raise


def verify(path: str | os.PathLike[str]) -> int:
    """Check every file of a model against its checksum.

    Parameters
    ----------
    path : str or path
        Folder of the model.

    Returns
    -------
    int
        Number of bytes that were checked.

    Raises
    ------
    StoreError
        A ValueError that names the first file at fault and what is wrong with it.

    Examples
    --------
    >>> import tempfile
    >>> from swnn_xp.store import save_arrays
    >>> folder = tempfile.mkdtemp()
    >>> save_arrays(folder, {"ids": np.arange(3)}, {})
    >>> verify(folder)
    152
    """
    model = open_arrays(path, verify=True)
    for _ in model.names.values():
        pass
    manifest = load(Path(path))
    return sum(entry.bytes for entry in [*manifest.arrays.values(), *manifest.names.values()])


def _open(folder: Path, manifest: Manifest, *, mmap: bool, verify: bool) -> StoredModel:
    data = folder / manifest.data
    try:
        is_folder = stat.S_ISDIR(os.lstat(data).st_mode)
    except OSError as error:
        raise StoreError(data, f"can't be opened: {error.strerror}") from error
    if not is_folder:
        raise StoreError(data, "is not a folder")
    arrays, mapped = {}, MappedFiles()
    for name, entry in manifest.arrays.items():
        with open_regular(data / entry.file) as file:
            check_file(data / entry.file, file, entry.bytes, entry.sha256 if verify else None)
            arrays[name] = _array(data / entry.file, file, entry, mmap=mmap)
            if mmap:
                mapped.add(data / entry.file, file)
    loaders = {
        name: _names_loader(data / entry.file, entry, mapped, verify=verify)
        for name, entry in manifest.names.items()
    }
    counts = {name: entry.n_names for name, entry in manifest.names.items()}
    return StoredModel(
        arrays,
        manifest.meta,
        LazyNames(loaders),
        manifest.library_version,
        counts,
        mapped,
    )


def _array(path: Path, file: BufferedReader, entry: Entry, *, mmap: bool) -> npt.NDArray[Any]:
    _check_header(path, file, entry)
    dtype = np.dtype(entry.dtype)
    offset = file.tell()
    if not mmap or 0 in entry.shape:
        array = np.empty(entry.shape, dtype)
        view = array.reshape(-1).view("u1").data
        while view and (count := file.readinto(view)):
            view = view[count:]
        array.flags.writeable = not mmap
        return array
    mapped = mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_READ)
    return np.frombuffer(mapped, dtype, offset=offset).reshape(entry.shape)


def _check_header(path: Path, file: BufferedReader, entry: Entry) -> None:
    try:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise StoreError(path, f"has the .npy version {version}")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    except StoreError:
        raise
    except Exception as error:  # whatever NumPy's parser meets in damaged bytes
        raise StoreError(path, f"is not a .npy file: {error}") from None
    if shape != entry.shape or dtype != np.dtype(entry.dtype) or (fortran and len(shape) > 1):
        found = f"{dtype.str} of shape {shape}" + (", columns first" if fortran else "")
        said = f"{entry.dtype} of shape {entry.shape}"
        raise StoreError(path, f"holds {found} where the manifest says {said}")
    expected = file.tell() + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if expected != entry.bytes:
        raise StoreError(path, f"has {entry.bytes} bytes where its header needs {expected}")


def _names_loader(
    path: Path, entry: Entry, mapped: MappedFiles, *, verify: bool
) -> Callable[[], list[str]]:
    with open_regular(path) as file:
        check_file(path, file, entry.bytes, entry.sha256 if verify else None)
        # Mapped, so that the names outlive a save that replaces the model.
        text = mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_READ) if entry.bytes else b""
        mapped.add(path, file)
    return partial(_load_names, path, text, entry.n_names)


def _load_names(path: Path, text: mapping.mmap | bytes, count: int) -> list[str]:
    try:
        return decode_names(bytes(text), count)
    except ValueError as error:
        raise StoreError(path, str(error)) from None
