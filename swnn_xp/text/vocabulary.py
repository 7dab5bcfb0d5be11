"""Annif's vocabulary files: the name of each label's URI."""

from __future__ import annotations

import csv
import io
from typing import IO, Any, cast

from swnn_xp.io.errors import FormatError, PathLike
from swnn_xp.io.streams import open_input
from swnn_xp.text.documents import without_brackets


def read_vocabulary(path: PathLike, language: str | None = None) -> dict[str, str]:
    r"""Read names of labels by URI.

    Parameters
    ----------
    path : str or path
        ``.csv`` with the columns ``uri`` and ``label_LANGUAGE``, else lines of URI, tab and name.
    language : str, optional
        Which column of a CSV file; default: the first.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "subjects.tsv")
    >>> _ = path.write_text("<http://example.org/1>\tchess\n")
    >>> read_vocabulary(path)
    {'http://example.org/1': 'chess'}
    """
    with open_input(path) as stream:
        text: IO[str] = io.TextIOWrapper(cast(Any, stream), encoding="utf-8-sig", newline="")
        try:
            if str(path).lower().removesuffix(".gz").removesuffix(".xz").endswith(".csv"):
                return _from_csv(path, text, language)
            return _from_tsv(text)
        except (csv.Error, UnicodeDecodeError) as error:
            raise FormatError(path, None, str(error)) from None


def _from_tsv(text: IO[str]) -> dict[str, str]:
    cells = [line.rstrip("\r\n").split("\t") for line in text if line.strip()]
    return {without_brackets(row[0]): row[1] for row in cells if len(row) > 1 and row[1]}


def _from_csv(path: PathLike, text: IO[str], language: str | None) -> dict[str, str]:
    reader = csv.DictReader(text)
    names = [name for name in reader.fieldnames or () if name.startswith("label_")]
    column = names[0] if language is None and names else f"label_{language}"
    if "uri" not in (reader.fieldnames or ()) or column not in names:
        raise FormatError(path, 1, f"the header needs the columns uri and {column}")
    return {without_brackets(row["uri"]): row[column] for row in reader if row[column]}
