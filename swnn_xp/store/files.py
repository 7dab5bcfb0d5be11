"""Single files of a stored model: written durably with a checksum, opened without following links.

Lists of names are text, one name per line, and are decoded when they are first asked for.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple


class StoreError(ValueError):
    """A folder is not a model that can be opened, or not one that may be replaced.

    Attributes
    ----------
    path : str
        The file or folder at fault.
    what : str
        What is wrong with it.

    Examples
    --------
    >>> str(StoreError("model/manifest.json", "is not JSON"))
    'model/manifest.json: is not JSON'
    """

    def __init__(self, path: str | os.PathLike[str], what: str) -> None:
        self.path = os.fspath(path)
        self.what = what
        super().__init__(f"{self.path}: {what}")


_CHUNK = 1 << 22


class Written(NamedTuple):
    """Size and checksum of a new file."""

    bytes: int
    sha256: str


def write_durably(path: Path, parts: Iterable[bytes | memoryview]) -> Written:
    """Write a new file and return once it is on the disk.

    SHA-256 finds any alteration, can be checked by ``sha256sum``, and processors compute it in
    hardware: ``make bench-store`` shows it at twice the speed of BLAKE2b.
    """
    digest = hashlib.sha256()
    size = 0
    with open(path, "xb") as file:
        for part in parts:
            view = memoryview(part)
            for begin in range(0, len(view), _CHUNK):
                chunk = view[begin : begin + _CHUNK]
                digest.update(chunk)
                file.write(chunk)
            size += len(view)
        file.flush()
        os.fsync(file.fileno())
    return Written(size, digest.hexdigest())


def sync_folder(path: Path) -> None:
    """Return once the entries of a folder are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def open_regular(path: Path) -> Iterator[BufferedReader]:
    """Open a regular file for reading; links, pipes and devices are refused."""
    try:
        # O_NONBLOCK: opening a pipe must not wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise StoreError(path, "is missing") from None
    except OSError as error:
        raise StoreError(path, f"can't be opened: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StoreError(path, "is not a regular file")
        yield file


def check_file(path: Path, file: BufferedReader, size: int, sha256: str | None) -> None:
    """Compare an open file with the size and, if given, the checksum that it should have."""
    found = os.fstat(file.fileno()).st_size
    if found != size:
        raise StoreError(path, f"has {found} bytes where the manifest says {size}")
    if sha256 is not None:
        if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            raise StoreError(path, "was altered: its checksum does not match")
        file.seek(0)


_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_UNESCAPES = {written: char for char, written in _ESCAPES.items()}
_SPECIAL = re.compile(r"[\\\n\r]")
_WRITTEN = re.compile(r"\\.?")


def encode_names(names: Sequence[str]) -> bytes:
    r"""Write any names as UTF-8, one per line; line breaks and backslashes are escaped.

    Examples
    --------
    >>> encode_names(["tool", "two\nlines"])
    b'tool\ntwo\\nlines\n'
    """
    lines = []
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise ValueError(f"name {i} is not a text: {name!r}")
        lines.append(_SPECIAL.sub(lambda match: _ESCAPES[match[0]], name) + "\n")
    try:
        return "".join(lines).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"a name is not valid Unicode: {error}") from None


def decode_names(text: bytes, count: int) -> list[str]:
    r"""Read back what `encode_names` wrote; a ValueError says what is wrong.

    Examples
    --------
    >>> decode_names(b"tool\ntwo\\nlines\n", 2)
    ['tool', 'two\nlines']
    """
    names = text.decode("utf-8").split("\n")
    if names.pop() != "" or len(names) != count:
        raise ValueError(f"does not hold {count} names")
    if b"\\" not in text:
        return names
    try:
        return [_WRITTEN.sub(lambda match: _UNESCAPES[match[0]], name) for name in names]
    except KeyError as error:
        raise ValueError(f"has an unknown escape {error}") from None


class MappedFiles:
    """Files that are mapped: one that is cut short in place ends the process that reads it.

    `check` finds that before it happens, unless it happens in between. A save writes other files,
    so it changes none.
    """

    def __init__(self) -> None:
        self._files: list[tuple[Path, int, int, int]] = []
        self._closing = contextlib.ExitStack()
        weakref.finalize(self, self._closing.close)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()  # a copy in another process holds arrays, not files

    def add(self, path: Path, file: BufferedReader) -> None:
        """Remember the size and the time of an open file."""
        descriptor = os.dup(file.fileno())
        self._closing.callback(os.close, descriptor)
        status = os.fstat(descriptor)
        self._files.append((path, descriptor, status.st_size, status.st_mtime_ns))

    def check(self) -> None:
        """Raise StoreError if a file was changed in place; a third of a microsecond for each."""
        for path, descriptor, size, mtime in self._files:
            status = os.fstat(descriptor)
            if status.st_size != size or status.st_mtime_ns != mtime:
                raise StoreError(path, "was changed in place after it was opened: load it again")


class LazyNames(Mapping[str, list[str]]):
    """Lists of names by what they name; each is decoded once, on first use.

    Examples
    --------
    >>> names = LazyNames({"labels": lambda: ["tool", "game"]})
    >>> list(names), names["labels"][1]
    (['labels'], 'game')
    """

    def __init__(self, loaders: Mapping[str, Callable[[], list[str]]]) -> None:
        self._loaders = dict(loaders)
        self._loaded: dict[str, list[str]] = {}

    def __getitem__(self, key: str) -> list[str]:
        if key not in self._loaded:
            self._loaded[key] = self._loaders[key]()
        return self._loaded[key]

    def __reduce__(self) -> tuple[type, tuple[dict[str, list[str]]]]:
        return dict, (dict(self),)  # decoded: a mapped file can't be pickled

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaders)

    def __len__(self) -> int:
        return len(self._loaders)
