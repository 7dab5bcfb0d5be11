"""Maps of names: ``feature_map.txt``, ``label_map.txt``, one name per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from swnn_xp.io.errors import FormatError, PathLike
from swnn_xp.io.streams import BOM, open_input, open_output


def read_names(path: PathLike, *, encoding: str = "utf-8") -> list[str]:
    """Read names, one per line; the name of id ``i`` is the ``i``-th.

    Lines end in LF or CR LF; the last may lack its end. An empty line is an empty name. A
    byte-order mark is skipped. Plain, gzip or xz files.

    Parameters
    ----------
    path : str or path
        File to read.
    encoding : str, default "utf-8"
        Any ASCII-compatible encoding, such as "latin-1".

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "label_map.txt")
    >>> write_names(path, ["tool", "Spiel für Kinder"])
    >>> read_names(path)
    ['tool', 'Spiel für Kinder']
    """
    return list(iter_names(path, encoding=encoding))


def iter_names(path: PathLike, *, encoding: str = "utf-8") -> Iterator[str]:
    """Read the names of `read_names` one by one."""
    with open_input(path) as stream:
        for number, line in enumerate(stream, start=1):
            if number == 1:
                line = line.removeprefix(BOM)
            try:
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode(encoding)
            except UnicodeDecodeError as error:
                byte = line[error.start]
                raise FormatError(path, number, f"byte 0x{byte:02x} is not {encoding}") from None


def write_names(path: PathLike, names: Iterable[str]) -> None:
    r"""Write names as UTF-8, one per line; the file appears complete or not at all.

    Parameters
    ----------
    path : str or path
        File to write, compressed if its name ends in ``.gz`` or ``.xz``.
    names : iterable of str
        Names without line breaks.

    Examples
    --------
    >>> write_names("label_map.txt", ["two\nlines"])
    Traceback (most recent call last):
    ValueError: name 0 has a line break: 'two\nlines'
    """
    with open_output(path) as stream:
        for i, name in enumerate(names):
            if "\n" in name or "\r" in name:
                raise ValueError(f"name {i} has a line break: {name!r}")
            if i == 0 and name.startswith("\ufeff"):
                raise ValueError(f"name 0 begins with a byte-order mark: {name!r}")
            stream.write(name.encode("utf-8") + b"\n")
