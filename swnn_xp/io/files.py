"""Files, pipes and streams: how they are opened, how errors name them.

An output file appears complete or not at all (`open_atomic`); what can't be replaced, and output
that is to be seen as it grows, is written in place (`open_direct`, `DirectOutput`). Input may be
plain, gzip or xz, told apart by its first bytes; an output is compressed by its suffix.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import lzma
import os
import re
import secrets
import select
import stat
import zlib
from collections.abc import Iterator
from io import BufferedIOBase, BufferedReader, RawIOBase
from typing import Any, BinaryIO, NamedTuple, Protocol, Self, TypeAlias

PathLike: TypeAlias = str | os.PathLike[str]


class FormatError(ValueError):
    """A text file violates its format.

    Attributes
    ----------
    path : str
        The file as the caller named it.
    line : int or None
        Line number, from 1; None if there is none (damaged compressed data).
    what : str
        What was found there.

    Examples
    --------
    >>> str(FormatError("train.txt", 3, "'x' is not a number"))
    "train.txt:3: 'x' is not a number"
    """

    def __init__(self, path: PathLike, line: int | None, what: str) -> None:
        self.path = os.fspath(path)
        self.line = line
        self.what = what
        super().__init__(f"{self.path}: {what}" if line is None else f"{self.path}:{line}: {what}")


class Position(NamedTuple):
    """How far a file has been read; enough to resume there (see ``iter_xmc``).

    Examples
    --------
    >>> Position(row=2, line=3, offset=40)._replace(row=0)
    Position(row=0, line=3, offset=40)
    """

    row: int
    """Rows read."""
    line: int
    """Lines read, including the header."""
    offset: int
    """Bytes read, counted after decompression."""


_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # without a name of their own
_MAX_LINKS = 40  # as many as Linux follows


@contextlib.contextmanager
def open_atomic(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` when the block ends without an error.

    The bytes go to a temporary file in the same folder, are synced to disk and then renamed, so
    that `path` holds either its old content or all of the new. A symbolic link stays, and its
    target is replaced. Devices, pipes, sockets and ``/dev/stdout`` can't be replaced: they are
    written directly.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "note.txt")
    >>> with open_atomic(path) as file:
    ...     _ = file.write(b"all of it")
    >>> path.read_text()
    'all of it'
    """
    if is_special(path):
        with open_direct(path) as file:
            yield file
        return
    target = final_target(path)
    temporary = f"{target}.{secrets.token_hex(4)}.tmp"
    try:
        with naming(path), open(temporary, "xb") as file:
            yield file
            sync(file)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def naming(path: PathLike) -> Iterator[None]:
    """Let errors of the operating system name `path`, not a temporary file.

    Examples
    --------
    >>> with naming("/nowhere/out.tsv"):
    ...     open("/nowhere/out.tsv.1234.tmp", "xb")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/out.tsv'
    """
    try:
        yield
    except OSError as error:
        name = error.filename
        of_writing = name is None and error.errno in _WRITING
        if not of_writing and not str(name).startswith(os.path.realpath(path)):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def is_leftover(name: str, target: str) -> bool:
    """Whether a file has the name that a killed `open_atomic` of `target` leaves behind.

    Examples
    --------
    >>> is_leftover("job.json.0a1b2c3d.tmp", "job.json"), is_leftover("job.json", "job.json")
    (True, False)
    """
    return re.fullmatch(rf"{re.escape(target)}\.[0-9a-f]{{8}}\.tmp", name) is not None


def final_target(path: PathLike) -> str:
    """The file that a write to `path` replaces: links are followed, folders are refused."""
    target = os.path.realpath(path)
    if os.path.islink(target):  # a loop of links has no end
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    return target


def is_special(path: PathLike) -> bool:
    """Whether `path` can be written, but not replaced.

    Devices, pipes and sockets can't be replaced, nor open files such as ``/dev/stdout``.

    Examples
    --------
    >>> is_special("/dev/null"), is_special("/no/such/file")
    (True, False)
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    is_plain = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return not is_plain or _descriptor(path) is not None


def open_direct(path: PathLike) -> BinaryIO:
    """Open a file, pipe or device to write in place."""
    descriptor = _descriptor(path)
    # Opened by name, a file behind /dev/stdout would lose what is in it already.
    return open(path if descriptor is None else os.dup(descriptor), "wb")


def _descriptor(path: PathLike) -> int | None:
    """Descriptor of this process that `path` refers to, as /dev/stdout to 1; None for no such."""
    seen = os.fspath(path)
    for _ in range(_MAX_LINKS):
        folder, name = os.path.split(seen)
        if name.isdecimal() and os.path.realpath(folder) == f"/proc/{os.getpid()}/fd":
            return int(name)
        if not os.path.islink(seen):
            break
        seen = os.path.join(folder, os.readlink(seen))
    return None


def sync(file: BinaryIO) -> None:
    """Return once everything written to `file` is on disk."""
    file.flush()
    os.fsync(file.fileno())


class Writable(Protocol):
    """A binary output."""

    def write(self, data: bytes, /) -> object:
        """Write all of them."""

    def flush(self) -> object:
        """Flush what was written."""


class DirectOutput:
    """A file, pipe or device that is opened by the first write.

    An input that is refused at once leaves the old file as it was.

    Examples
    --------
    >>> with DirectOutput("/dev/null") as out:
    ...     out.write(b"text")
    """

    def __init__(self, path: PathLike) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, data: bytes, /) -> None:
        """Write, after opening the file if this is the first time."""
        with naming(self._path):
            if self._file is None:
                self._file = open_direct(self._path)
            self._file.write(data)

    def flush(self) -> None:
        """Flush what was written."""
        if self._file is not None:
            with naming(self._path):
                self._file.flush()


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
    if isinstance(path, LiveInput) or os.fspath(path) == STDIN:
        return False
    return stat.S_ISREG(os.stat(path).st_mode)


@contextlib.contextmanager
def open_input(path: PathLike) -> Iterator[BufferedIOBase]:
    """Open `path` for reading, decompressed as its first bytes (not its name) require.

    Pipes are read as they come. Damage to compressed data, met anywhere inside the ``with`` block,
    becomes a `FormatError`.
    """
    if isinstance(path, LiveInput):
        with _explained(path):
            yield path.stream()
        return
    is_stdin = os.fspath(path) == STDIN
    with open(0 if is_stdin else path, "rb", closefd=not is_stdin) as opened:
        head, raw = _first_bytes(opened, rewind=can_rewind(path))
        with _explained(path):
            if head.startswith(_GZIP):
                with gzip.GzipFile(fileobj=raw) as stream:
                    yield stream
            elif head.startswith(_XZ):
                with lzma.LZMAFile(raw) as stream:
                    yield stream
            else:
                _refuse_foreign(path, head)
                yield raw


class LiveInput(os.PathLike[str]):
    r"""A pipe, or another input that can be read only once; `open_input` continues where it is.

    Examples
    --------
    >>> import os
    >>> read, write = os.pipe()
    >>> _ = os.write(write, b"one\ntwo\n"); os.close(write)
    >>> pipe = LiveInput(f"/dev/fd/{read}")
    >>> first_byte(pipe)
    b'o'
    >>> with open_input(pipe) as stream:
    ...     stream.read()
    b'one\ntwo\n'
    """

    def __init__(self, path: PathLike) -> None:
        self._path = os.fspath(path)
        self._opened = contextlib.ExitStack()
        self._stream: BufferedIOBase | None = None

    def __fspath__(self) -> str:
        return self._path

    def stream(self) -> BufferedIOBase:
        """The rest of the input; it stays open as long as this object."""
        if self._stream is None:
            self._stream = self._opened.enter_context(open_input(self._path))
        return self._stream

    def unread(self, head: bytes) -> None:
        """Put bytes back."""
        self._stream = unread(head, self.stream())


def first_byte(path: PathLike) -> bytes:
    """The first byte that is not blank, which tells formats apart; nothing if there is none.

    Of a pipe, this waits until there is one. It is read again only from a `LiveInput`.
    """
    with open_input(path) as stream:
        head = byte = stream.read(1)
        while byte.isspace() or BOM.startswith(head):
            byte = stream.read(1)
            if not byte:
                break
            head += byte
        if isinstance(path, LiveInput):
            path.unread(head)
    return byte


@contextlib.contextmanager
def _explained(path: PathLike) -> Iterator[None]:
    try:
        yield
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

    def readinto(self, buffer: Any) -> int:
        # Not readinto1, which waits for more if there is room for it.
        data = self._head[: len(buffer)] or self._rest.read1(len(buffer))
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


class _AvailableBytes(RawIOBase):
    """A pipe: each read waits for data, then takes all that is available."""

    def __init__(self, opened: BufferedReader) -> None:
        self._raw = opened.raw
        self._poll = select.poll()
        self._poll.register(opened.fileno(), select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        count = step = self._raw.readinto(view) or 0
        while step and count < len(view) and self._poll.poll(0):
            step = self._raw.readinto(view[count:]) or 0
            count += step
        return count


def _first_bytes(opened: BufferedReader, *, rewind: bool) -> tuple[bytes, BufferedReader]:
    if rewind:
        head = opened.read(_LONGEST)
        opened.seek(0)
        return head, opened
    head, raw = b"", BufferedReader(_AvailableBytes(opened))
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
            what = f"is compressed with {name}; only plain text, gzip and xz can be read"
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
