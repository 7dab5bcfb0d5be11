"""Byte streams: plain, gzip or xz, recognised on input and chosen by the suffix on output."""

from __future__ import annotations

import contextlib
import gzip
import lzma
import os
import stat
import zlib
from collections.abc import Iterator
from io import BufferedIOBase, BufferedReader, RawIOBase
from typing import Any, BinaryIO

from swnn_xp.io.atomic import open_atomic
from swnn_xp.io.errors import FormatError, PathLike

BOM = b"\xef\xbb\xbf"
DAMAGE = gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error
"""What a stream of damaged compressed data raises."""


STDIN = "/dev/stdin"
"""Read from the open descriptor: a second `open` fails where it is a socket."""

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
_FOREIGN = {
    **{b"BZh%d1AY&SY" % level: "bzip2" for level in range(1, 10)},
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"PK\x03\x04": "zip",
}
_MAGIC = (_GZIP, _XZ, *_FOREIGN)
_LONGEST = max(map(len, _MAGIC))


def can_rewind(path: PathLike) -> bool:
    """Whether `path` can be read twice: a regular file that is not standard input.

    Examples
    --------
    >>> can_rewind("/dev/null")
    False
    """
    return os.fspath(path) != STDIN and stat.S_ISREG(os.stat(path).st_mode)


@contextlib.contextmanager
def open_input(path: PathLike) -> Iterator[BufferedIOBase]:
    """Open `path` for reading, decompressed as its first bytes (not its name) require.

    Pipes are read as they come. Damage to compressed data, met anywhere inside the ``with`` block,
    becomes a `FormatError`.
    """
    is_stdin = os.fspath(path) == STDIN
    with open(0 if is_stdin else path, "rb", closefd=not is_stdin) as opened:
        head, raw = _first_bytes(opened, rewind=can_rewind(path))
        try:
            if head.startswith(_GZIP):
                with gzip.GzipFile(fileobj=raw) as stream:
                    yield stream
            elif head.startswith(_XZ):
                with lzma.LZMAFile(raw) as stream:
                    yield stream
            else:
                _refuse_foreign(path, head)
                yield raw
        except DAMAGE as error:
            raise FormatError(path, None, f"damaged compressed data: {error}") from error


def unread(head: bytes, stream: BufferedIOBase) -> BufferedReader:
    """Put bytes back in front of a stream that can't be rewound.

    Examples
    --------
    >>> import io
    >>> unread(b"one", io.BytesIO(b" two")).read()
    b'one two'
    """
    return BufferedReader(_Rejoined(head, stream))


class _Rejoined(RawIOBase):
    """Bytes that were read before, then the rest of their stream as it comes."""

    def __init__(self, head: bytes, rest: BufferedIOBase) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        if not self._head:
            return self._rest.readinto1(room)
        count = min(len(room), len(self._head))
        room[:count] = self._head[:count]
        self._head = self._head[count:]
        return count


def _first_bytes(raw: BufferedReader, *, rewind: bool) -> tuple[bytes, BufferedReader]:
    if rewind:
        head = raw.read(_LONGEST)
        raw.seek(0)
        return head, raw
    head = b""
    # No further than needed: the first line of a live stream may be short.
    while any(len(head) < len(magic) and magic.startswith(head) for magic in _MAGIC):
        byte = raw.read(1)
        if not byte:
            break
        head += byte
    return head, unread(head, raw)


def _refuse_foreign(path: PathLike, head: bytes) -> None:
    for magic, name in _FOREIGN.items():
        if head.startswith(magic):
            what = f"is compressed by {name}, which is not read: plain text, gzip and xz are"
            raise FormatError(path, None, what)


@contextlib.contextmanager
def open_output(path: PathLike) -> Iterator[BufferedIOBase | BinaryIO]:
    """Open a file that replaces `path` when complete (`open_atomic`), compressed by its suffix.

    ``.gz`` and ``.xz`` compress.
    """
    with open_atomic(path) as raw, _compressed(os.path.realpath(path), raw) as stream:
        yield stream


@contextlib.contextmanager
def _compressed(name: str, raw: BinaryIO) -> Iterator[BufferedIOBase | BinaryIO]:
    if name.endswith(".gz"):
        # No name and no time in the header: the same data gives the same file.
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream:
            yield stream
    elif name.endswith(".xz"):
        with lzma.LZMAFile(raw, "wb") as stream:
            yield stream
    else:
        yield raw
