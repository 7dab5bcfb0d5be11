"""Output files that appear complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO

from swnn_xp.io.errors import PathLike

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
    """Let errors of the operating system name `path`, not a file the user never heard of.

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
    """Open what is written in place."""
    descriptor = _descriptor(path)
    # Opened by name, a file behind /dev/stdout would lose what is in it already.
    return open(path if descriptor is None else os.dup(descriptor), "wb")


def _descriptor(path: PathLike) -> int | None:
    """Number of the open file of this process that `path` stands for, as /dev/stdout for 1."""
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
