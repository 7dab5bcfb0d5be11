"""Byte streams: plain, gzip or xz in; atomically replaced files out."""

from __future__ import annotations

import contextlib
import gzip
import lzma
import os
import secrets
import zlib
from collections.abc import Iterator
from io import BufferedIOBase, BufferedWriter

from swnn_xp.io.errors import FormatError, PathLike

BOM = b"\xef\xbb\xbf"
DAMAGE = gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error
"""What a stream of damaged compressed data raises."""


@contextlib.contextmanager
def open_input(path: PathLike) -> Iterator[BufferedIOBase]:
    """Open `path` for reading, decompressed as its first bytes say (not its name).

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
def open_output(path: PathLike) -> Iterator[BufferedIOBase]:
    """Open a new file that takes the place of `path` when the block ends without an error.

    The suffix ``.gz`` or ``.xz`` compresses. Whatever happens, `path` holds either what it held
    before or everything that was written.
    """
    target = os.path.realpath(path)
    temporary = f"{target}.{secrets.token_hex(4)}.tmp"
    try:
        with open(temporary, "xb") as raw:
            with _compressed(target, raw) as stream:
                yield stream
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def _compressed(target: str, raw: BufferedWriter) -> Iterator[BufferedIOBase]:
    if target.endswith(".gz"):
        # No name and no time in the header: the same data gives the same file.
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream:
            yield stream
    elif target.endswith(".xz"):
        with lzma.LZMAFile(raw, "wb") as stream:
            yield stream
    else:
        yield raw
