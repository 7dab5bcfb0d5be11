"""Byte streams: plain, gzip or xz, recognised on input and chosen by the suffix on output."""

from __future__ import annotations

import contextlib
import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from io import BufferedIOBase
from typing import BinaryIO

from swnn_xp.io.atomic import open_atomic
from swnn_xp.io.errors import FormatError, PathLike

BOM = b"\xef\xbb\xbf"
DAMAGE = gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error
"""What a stream of damaged compressed data raises."""


@contextlib.contextmanager
def open_input(path: PathLike) -> Iterator[BufferedIOBase]:
    """Open `path` for reading, decompressed as its first bytes (not its name) require.

    Damage to compressed data, met anywhere inside the ``with`` block, becomes a `FormatError`.
    """
    with open(path, "rb") as raw:
        head = raw.read(6)
        raw.seek(0)
        try:
            if head[:2] == b"\x1f\x8b":
                with gzip.GzipFile(fileobj=raw) as stream:
                    yield stream
            elif head == b"\xfd7zXZ\x00":
                with lzma.LZMAFile(raw) as stream:
                    yield stream
            else:
                yield raw
        except DAMAGE as error:
            raise FormatError(path, None, f"damaged compressed data: {error}") from error


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
