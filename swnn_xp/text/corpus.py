"""Tagged texts to learn from, read from JSON lines, CSV, Parquet or Annif's files.

`read_documents` gives the texts of a file one by one, `read_corpus` all of them with a matrix of
their labels, and `read_vocabulary` the names that Annif's vocabularies give to the labels' URIs.
"""

from __future__ import annotations

import contextlib
import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from swnn_xp.io.files import BOM, STDIN, FormatError, PathLike, open_input
from swnn_xp.io.json_lines import parse_object
from swnn_xp.rows.canonical import to_csr

_LABELS = ("labels", "subject_uris", "subjects")  # the last two are Annif's
_IDS = ("id", "document_id")
_NEEDS_PYARROW = "Parquet files need pyarrow: pip install pyarrow"
_MAX_FIELD = 1 << 30


class Document(NamedTuple):
    """A text with its labels."""

    text: str
    labels: list[str] | None
    """None if the file says nothing about labels."""
    id: str | None


class Fields(NamedTuple):
    """Where a record has its text, labels and id; several fields of text are joined by a line."""

    text: tuple[str, ...] = ("text",)
    labels: str | None = None
    """Default: ``labels``, else Annif's ``subject_uris`` or ``subjects``."""
    id: str | None = None
    """Default: ``id``, else Annif's ``document_id``, else none."""
    separator: str = ";"
    """Between labels that are one string; those of ``subject_uris`` are separated by spaces."""


Records = Iterator[tuple[int, Mapping[str, Any]]]


def read_documents(path: PathLike, fields: Fields = Fields()) -> Iterator[Document]:  # noqa: B008
    """Read documents one by one; the suffix of the file tells its format.

    ``.jsonl`` or ``.ndjson``, ``.csv`` and ``.parquet`` have fields by name. ``.tsv`` is Annif's: a
    text, a tab, and labels separated by spaces on each line. All but Parquet may be compressed
    (``.gz``, ``.xz``). ``-`` is standard input with JSON lines.

    Raises
    ------
    FormatError
        With the number of the line and what is wrong there.
    """
    for number, record in _READERS[format_of(path)](path):
        try:
            yield _document(record, fields)
        except ValueError as error:
            raise FormatError(path, number, str(error)) from None


def format_of(path: PathLike) -> str:
    """Tell the format of a corpus from its name.

    Examples
    --------
    >>> format_of("tagged.jsonl.gz")
    'jsonl'
    """
    name = str(path).lower()
    if name in ("-", STDIN):
        return "jsonl"
    suffix = Path(name.removesuffix(".gz").removesuffix(".xz")).suffix.removeprefix(".")
    known = {"ndjson": "jsonl"} | {name: name for name in _READERS}
    if suffix not in known:
        raise ValueError(f"{path}: a corpus is named .jsonl, .csv, .tsv or .parquet, or is -")
    return known[suffix]


def _lines(path: PathLike) -> Iterator[tuple[int, str]]:
    is_stdin = str(path) == "-"
    with contextlib.nullcontext(sys.stdin.buffer) if is_stdin else open_input(path) as stream:
        for number, line in enumerate(stream, start=1):
            if number == 1:
                line = line.removeprefix(BOM)
            try:
                yield number, line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise FormatError(path, number, f"is not UTF-8: {error}") from None


def _json_lines(path: PathLike) -> Records:
    for number, line in _lines(path):
        if line.strip():
            yield number, parse_object(path, number, line)


def _csv_rows(path: PathLike) -> Records:
    csv.field_size_limit(max(csv.field_size_limit(), _MAX_FIELD))  # texts are long
    with open_input(path) as stream:
        text: IO[str] = io.TextIOWrapper(cast(Any, stream), encoding="utf-8-sig", newline="")
        reader = csv.DictReader(text, strict=True)
        try:
            for record in reader:
                if None in record:
                    raise FormatError(path, reader.line_num, "has more cells than the header")
                yield (
                    reader.line_num,
                    {key: cell for key, cell in record.items() if cell is not None},
                )
        except (csv.Error, UnicodeDecodeError) as error:
            raise FormatError(path, reader.line_num + 1, str(error)) from None


def _tsv_lines(path: PathLike) -> Records:
    for number, line in _lines(path):
        if line.strip():
            text, tab, uris = line.rstrip("\r\n").partition("\t")
            yield number, {"text": text} | ({"subject_uris": uris} if tab else {})


def _parquet_rows(path: PathLike) -> Records:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(_NEEDS_PYARROW) from error
    try:
        number = 0
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
            for record in batch.to_pylist():
                number += 1
                yield number, record
    except pyarrow.ArrowException as error:
        raise FormatError(path, None, f"is not Parquet: {error}") from None


_READERS: dict[str, Callable[[PathLike], Records]] = {
    "jsonl": _json_lines,
    "csv": _csv_rows,
    "tsv": _tsv_lines,
    "parquet": _parquet_rows,
}


def _document(record: Mapping[str, Any], fields: Fields) -> Document:
    return Document(_text(record, fields.text), _labels(record, fields), _id(record, fields.id))


def _text(record: Mapping[str, Any], names: tuple[str, ...]) -> str:
    parts = []
    for name in names:
        value = _field(record, name)
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{name} is {_shown(value)}, not a text")
        parts.append(value or "")
    return "\n".join(parts)


def _labels(record: Mapping[str, Any], fields: Fields) -> list[str] | None:
    name = fields.labels or next((name for name in _LABELS if name in record), None)
    if name is None:
        return None
    value = _field(record, name)
    if isinstance(value, str):
        separator = None if name == "subject_uris" else fields.separator
        value = [part.strip() for part in value.split(separator)]
    if value is not None and not isinstance(value, list):
        raise ValueError(f"{name} is {_shown(value)}, not a list of labels")
    labels = [_label(each) for each in value or ()]
    return list(dict.fromkeys(label for label in labels if label))


def _label(value: Any) -> str:
    if isinstance(value, dict):  # Annif's {"uri": ..., "label": ...}
        value = value.get("uri") or value.get("label")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"label {_shown(value)} is not a text")
    return without_brackets(value)


def without_brackets(uri: str) -> str:
    """Remove the angle brackets that Annif's files may put around a URI."""
    return uri[1:-1] if uri.startswith("<") and uri.endswith(">") else uri


def _id(record: Mapping[str, Any], field: str | None) -> str | None:
    name = field or next((name for name in _IDS if name in record), None)
    value = None if name is None else _field(record, name)
    return None if value is None else str(value)


def _field(record: Mapping[str, Any], name: str) -> Any:
    if name not in record:
        raise ValueError(f"has no field {name!r}; it has {', '.join(record) or 'none'}")
    return record[name]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def read_vocabulary(path: PathLike, language: str | None = None) -> dict[str, list[str]]:
    r"""Read names of labels by URI: the preferred one first, then others.

    Parameters
    ----------
    path : str or path
        ``.csv`` with the columns ``uri`` and ``label_LANGUAGE``, and perhaps ``altLabel_LANGUAGE``
        with names between which there is a ``|``; else lines of URI, tab and name, of which further
        ones for a URI are other names.
    language : str, optional
        Which columns of a CSV file; default: that of the first ``label_``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "subjects.tsv")
    >>> _ = path.write_text("<http://example.org/1>\tchess\n<http://example.org/1>\tbullet chess\n")
    >>> read_vocabulary(path)
    {'http://example.org/1': ['chess', 'bullet chess']}
    """
    with open_input(path) as stream:
        text: IO[str] = io.TextIOWrapper(cast(Any, stream), encoding="utf-8-sig", newline="")
        try:
            if str(path).lower().removesuffix(".gz").removesuffix(".xz").endswith(".csv"):
                return _from_csv(path, text, language)
            return _from_tsv(text)
        except (csv.Error, UnicodeDecodeError) as error:
            raise FormatError(path, None, str(error)) from None


def _from_tsv(text: IO[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text:
        cells = line.rstrip("\r\n").split("\t")
        if len(cells) > 1 and cells[1]:
            found.setdefault(without_brackets(cells[0]), []).append(cells[1])
    return found


def _from_csv(path: PathLike, text: IO[str], language: str | None) -> dict[str, list[str]]:
    reader = csv.DictReader(text)
    names = [name for name in reader.fieldnames or () if name.startswith("label_")]
    column = names[0] if language is None and names else f"label_{language}"
    if "uri" not in (reader.fieldnames or ()) or column not in names:
        raise FormatError(path, 1, f"the header needs the columns uri and {column}")
    others = f"altLabel_{column.removeprefix('label_')}"
    found = {}
    for row in reader:
        if row[column]:
            more = [name.strip() for name in (row.get(others) or "").split("|")]
            found[without_brackets(row["uri"])] = [row[column], *filter(None, more)]
    return found


class Corpus(NamedTuple):
    """Texts and their labels."""

    texts: list[str]
    y: sp.csr_array
    """Labels, 0/1 (n_texts, n_labels)."""
    label_names: list[str]
    label_uris: list[str] | None
    """What the file calls the labels, if a vocabulary gives them other names."""
    row_names: list[str] | None
    """Ids of the texts, if the file has them."""
    known_names: list[list[str]] | None = None
    """All names that a vocabulary has for each label."""


def read_corpus(
    path: PathLike,
    fields: Fields = Fields(),  # noqa: B008 (it never changes)
    vocabulary: Mapping[str, Sequence[str]] | None = None,
    *,
    whole_vocabulary: bool = False,
) -> Corpus:
    """Read tagged texts; see `read_documents` for the formats.

    Parameters
    ----------
    path : str or path
    fields : Fields
        Names of the fields.
    vocabulary : mapping of str to names, optional
        Names of each label, as `read_vocabulary` reads them, of which the first is taken; labels
        without one are named as in the file, and labels that share a name become
        ``NAME (URI)``.
    whole_vocabulary : bool, default False
        Take labels that only the vocabulary has, too.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tagged.jsonl")
    >>> _ = path.write_text('{"text": "a chess game", "labels": ["game", "board"]}')
    >>> corpus = read_corpus(path)
    >>> corpus.label_names, corpus.y.toarray().tolist()
    (['board', 'game'], [[1, 1]])
    """
    documents = list(read_documents(path, fields))
    if not any(document.labels for document in documents):
        raise FormatError(path, None, "no text has labels: there is nothing to learn from")
    tags = {label for document in documents for label in document.labels or ()}
    uris = sorted(tags.union(vocabulary or ()) if whole_vocabulary else tags)
    ids = [document.id for document in documents]
    return Corpus(
        texts=[document.text for document in documents],
        y=_label_matrix([document.labels or [] for document in documents], uris),
        label_names=uris if vocabulary is None else _names_of(uris, vocabulary),
        label_uris=None if vocabulary is None else uris,
        row_names=_row_names(ids),
        known_names=(
            None if vocabulary is None else [list(vocabulary.get(uri, [uri])) for uri in uris]
        ),
    )


def _names_of(uris: list[str], vocabulary: Mapping[str, Sequence[str]]) -> list[str]:
    names = [vocabulary.get(uri, [uri])[0] for uri in uris]
    times = Counter(names)
    return [
        name if times[name] == 1 else f"{name} ({uri})"
        for name, uri in zip(names, uris, strict=True)
    ]


def _row_names(ids: list[str | None]) -> list[str] | None:
    if all(id_ is None for id_ in ids):
        return None
    return [f"row {i}" if id_ is None else id_ for i, id_ in enumerate(ids)]


def _label_matrix(labels: Sequence[Sequence[str]], names: Sequence[str]) -> sp.csr_array:
    number = {name: i for i, name in enumerate(names)}
    rows = [sorted(number[label] for label in each) for each in labels]
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.array([label for row in rows for label in row], np.int64)
    return to_csr(indptr, indices, np.ones(indices.size, np.int8), (len(rows), len(names)))
