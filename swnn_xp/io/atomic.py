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


@contextlib.contextmanager
def open_atomic(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` when the block ends without an error.

    The bytes go to a temporary file in the same folder, are synced to disk and then renamed, so
    that `path` holds either its old content or all of the new. A symbolic link stays, and its
    target is replaced. Devices, pipes and sockets can't be replaced: they are written directly.

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
        with open(path, "wb") as file:
            yield file
        return
    target = final_target(path)
    temporary = f"{target}.{secrets.token_hex(4)}.tmp"
    try:
        with open(temporary, "xb") as file:
            yield file
            sync(file)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


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
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    return target


def is_special(path: PathLike) -> bool:
    """Whether `path` is a device, pipe or socket: it can be written, but not replaced.

    Examples
    --------
    >>> is_special("/dev/null"), is_special("/no/such/file")
    (True, False)
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def sync(file: BinaryIO) -> None:
    """Return once everything written to `file` is on disk."""
    file.flush()
    os.fsync(file.fileno())
