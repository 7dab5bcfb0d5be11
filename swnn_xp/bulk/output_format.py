"""The format of an output file, by its name or as asked for."""

from __future__ import annotations

import gzip
import lzma
import os
from collections.abc import Callable
from typing import NamedTuple

from swnn_xp.bulk.lines import FORMATS
from swnn_xp.io.errors import PathLike

PARQUET = "parquet"
FORMAT_NAMES = (*FORMATS, PARQUET)
_PLAIN = {"": "tsv", "txt": "tsv", "ndjson": "jsonl", **{name: name for name in FORMAT_NAMES}}
_COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    # No time in the header: the same data gives the same file.
    "gz": lambda text: gzip.compress(text, mtime=0),
    "xz": lzma.compress,
}


class OutputFormat(NamedTuple):
    """How predictions are written."""

    name: str
    """One of `FORMAT_NAMES`."""
    compression: str = ""
    """``gz``, ``xz`` or nothing."""

    def encode(self, text: str) -> bytes:
        """Bytes of some lines. Compressed, they stand alone: such files may be joined or cut."""
        plain = text.encode()
        return _COMPRESSED[self.compression](plain) if self.compression else plain


def choose_format(output: PathLike | None, wanted: str | None = None) -> OutputFormat:
    """The format that is asked for, else the one of the output's suffix, else TSV.

    Examples
    --------
    >>> choose_format("labels.jsonl").name, choose_format("labels.csv.gz", "tsv")
    ('jsonl', OutputFormat(name='tsv', compression='gz'))
    >>> choose_format("labels.xls")
    Traceback (most recent call last):
    ValueError: labels.xls: .xls is not a known format; name it .tsv, .csv, .jsonl or ...
    """
    stem, suffix = _split("" if output is None else os.path.basename(output))
    compression = ""
    if suffix in _COMPRESSED:
        compression, (_, suffix) = suffix, _split(stem)
    if wanted is None and suffix not in _PLAIN:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise ValueError(
            f"{output}: .{suffix} is not a known format; name it {known} or .{PARQUET}, "
            f"or give --format; .gz and .xz may follow"
        )
    name = wanted or _PLAIN[suffix]
    if name == PARQUET and (compression or output is None):
        why = "is compressed already" if compression else "needs a file: name it with -o"
        raise ValueError(f"Parquet {why}")
    return OutputFormat(name, compression)


def _split(name: str) -> tuple[str, str]:
    stem, suffix = os.path.splitext(name)
    return stem, suffix.removeprefix(".").lower()
