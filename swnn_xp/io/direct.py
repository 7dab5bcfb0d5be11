"""Output that grows in place, for pipes and for what comes from them."""

from __future__ import annotations

from typing import BinaryIO, Protocol, Self

from swnn_xp.io.atomic import naming, open_direct
from swnn_xp.io.errors import PathLike


class Writable(Protocol):
    """What bytes can be written to."""

    def write(self, data: bytes, /) -> object:
        """Write all of them."""

    def flush(self) -> object:
        """Hand over what was written."""


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
        """Hand over what was written."""
        if self._file is not None:
            with naming(self._path):
                self._file.flush()
