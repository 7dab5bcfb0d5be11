"""The input of a bulk prediction: blocks of rows from text files or JSON lines, and their ids."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csr_array

from swnn_xp.bulk.records import NO_FEATURES, InputFeatures, KnownFeatures, ParsedRow, text_of
from swnn_xp.checks import check_width
from swnn_xp.io.files import FormatError, LiveInput, PathLike, Position, can_rewind, first_byte
from swnn_xp.io.json_lines import JsonRecord, iter_json_lines
from swnn_xp.io.reading import iter_names, iter_xmc

RowId: TypeAlias = str | int | None
"""Id of a row in its input; None where it has none."""


class RowBlock(NamedTuple):
    """Consecutive rows of a source."""

    X: Any
    first_row: int
    """Number of the block's first row in its source, from 0."""
    end: Position
    """Where the next block begins."""
    ids: Sequence[RowId] | None = None
    errors: Mapping[int, str] = MappingProxyType({})
    """What is wrong with bad rows, by their place in the block; such a row of X is empty."""
    is_cut: bool = False
    """Whether the row after the last one is bad: an error follows."""


class RowSource(Protocol):
    """Rows of one file or pipe."""

    @property
    def path(self) -> PathLike:
        """The file, as errors name it."""

    @property
    def has_ids(self) -> bool:
        """Whether its blocks have ids."""

    def identity(self) -> list[Any]:
        """What makes two sources the same, in JSON's types."""

    def blocks(self, rows: int, resume: Position | None = None) -> Iterator[RowBlock]:
        """Blocks of at most `rows` rows; of a pipe, as they come."""


@dataclass(frozen=True)
class RepositoryRows:
    """Rows in the repository's text format; they have no ids."""

    path: PathLike
    n_features: int
    """Features of the model: a wider file is refused."""
    strict: bool = False
    has_ids: bool = False

    def identity(self) -> list[Any]:
        """Name, size and time of the file, and how it is read."""
        return [*file_identity(self.path), "strict" if self.strict else "text"]

    def blocks(self, rows: int, resume: Position | None = None) -> Iterator[RowBlock]:
        """Blocks of at most `rows` rows."""
        for block in iter_xmc(self.path, rows, resume=resume, header="auto", strict=self.strict):
            check_file_width(self.path, block.X.shape[1], self.n_features)
            yield RowBlock(widened(block.X, self.n_features), block.first_row, block.end)


@dataclass(frozen=True)
class JsonRows:
    """Rows as JSON lines: objects with an ``id`` and features or a text."""

    path: PathLike
    features: RecordRows
    has_ids: bool = True
    skip_bad: bool = False
    """Go on after a line that is no row."""

    def identity(self) -> list[Any]:
        """Name, size and time of the file, and how it is read."""
        return [*file_identity(self.path), "jsonl", *(["skip bad"] if self.skip_bad else [])]

    def blocks(self, rows: int, resume: Position | None = None) -> Iterator[RowBlock]:
        """Blocks of at most `rows` rows; those before a bad one come before its error."""
        bad: Literal["keep", "last"] = "keep" if self.skip_bad else "last"
        for block in iter_json_lines(self.path, rows, resume=resume, bad=bad):
            parsed: list[ParsedRow] = []
            ids: list[RowId] = []
            errors: dict[int, str] = {}
            end = block.end._replace(row=block.first_row)
            for record in block.records:
                try:
                    parsed.append(self.features.row(self.path, record))
                    ids.append(_id(self.path, record))
                except FormatError as error:
                    del parsed[len(ids) :]
                    if not self.skip_bad:
                        if ids:
                            X = self.features.matrix(parsed)
                            yield RowBlock(X, block.first_row, end, ids, is_cut=True)
                        raise
                    errors[len(ids)] = str(error)
                    parsed.append(NO_FEATURES)
                    ids.append(_id_or_none(self.path, record))
                end = Position(end.row + 1, record.line, record.offset)
            X = self.features.matrix(parsed)
            yield RowBlock(X, block.first_row, block.end, ids, errors)
            self.features.bad += len(errors)


class RecordRows:
    """Turns records into rows, as the service does, and counts names and rows that are left out.

    Parameters
    ----------
    known : KnownFeatures

    Examples
    --------
    >>> rows = RecordRows(KnownFeatures(2, {"dog": 0, "cat": 1}))
    >>> record = JsonRecord(1, {"features": {"cat": 2, "cow": 1}})
    >>> rows.matrix([rows.row("new.jsonl", record)]).toarray().tolist(), rows.unknown
    ([[0.0, 2.0]], 1)
    """

    def __init__(self, known: KnownFeatures) -> None:
        self._known = known
        self.seen = self.unknown = self.bad = 0

    def row(self, path: PathLike, record: JsonRecord) -> ParsedRow:
        """The row of a record; FormatError names the path and the line."""
        if record.error is not None:
            raise record.error
        given = record.fields
        try:
            fields = given.get("features"), given.get("indices"), given.get("values")
            text = text_of("text" in given, given.get("text"), *fields)
            row = self._known.row(*fields, text)
        except ValueError as error:
            raise FormatError(path, record.line, str(error)) from None
        if row.unknown is not None and text is None:  # texts have words that no training text has
            self.seen += len(given["features"])
            self.unknown += len(row.unknown)
        return row

    def matrix(self, rows: Sequence[ParsedRow]) -> csr_array:
        """The rows as a matrix as wide as the model."""
        ends = np.cumsum([0, *(row.indices.size for row in rows)], dtype=np.int64)
        indices = np.concatenate([np.empty(0, np.int64), *(row.indices for row in rows)])
        values = np.concatenate([np.empty(0), *(row.values for row in rows)])
        return csr_array((values, indices, ends), (len(rows), self._known.n_features))


def _id(path: PathLike, record: JsonRecord) -> RowId:
    found = record.fields.get("id")
    if isinstance(found, str):
        try:
            found.encode()
        except UnicodeEncodeError:  # JSON's escapes allow what UTF-8 does not
            raise FormatError(path, record.line, f"id {found!r} is not Unicode text") from None
    if found is None or (isinstance(found, str | int) and not isinstance(found, bool)):
        return found
    raise FormatError(path, record.line, f"id must be a text or a whole number, not {found!r}")


def _id_or_none(path: PathLike, record: JsonRecord) -> RowId:
    try:
        return _id(path, record)
    except FormatError:
        return None


def open_source(
    path: PathLike, clf: InputFeatures, *, strict: bool = False, skip_bad: bool = False
) -> RowSource:
    """Find out by its first byte which source a file or pipe is."""
    where = path if can_rewind(path) else LiveInput(path)
    first = first_byte(where)
    # A pipe without anything is a filter's input without rows, not a file without its header.
    if first == b"{" or (not first and isinstance(where, LiveInput)):
        return JsonRows(where, RecordRows(KnownFeatures.of(clf)), skip_bad=skip_bad)
    if skip_bad:
        raise ValueError(f"{path}: is in the text format; bad lines are skipped in JSON lines only")
    return RepositoryRows(where, clf.n_features_in_, strict)


class RowMap:
    """Names of consecutive rows, read along with them; only those of one block are in memory.

    Parameters
    ----------
    path : path
        One name per line.
    start : int
        Rows whose names are skipped.
    """

    def __init__(self, path: PathLike, start: int = 0) -> None:
        self._path = path
        self._names: Iterator[str] = islice(iter_names(path), start, None)

    def take(self, count: int) -> list[str]:
        """Names of the next rows."""
        names = list(islice(self._names, count))
        if len(names) < count:
            raise ValueError(f"{self._path}: has fewer names than there are rows")
        return names

    def check_end(self) -> None:
        """After the last row: no name is left."""
        if next(self._names, None) is not None:
            raise ValueError(f"{self._path}: has more names than there are rows")


def file_identity(file: str | os.PathLike[str]) -> list[Any]:
    """Name, size and time of a file, in JSON's types; its folder may be mounted elsewhere."""
    status = os.stat(file)
    return [os.path.basename(file), status.st_size, status.st_mtime_ns]


def check_file_width(file: str | os.PathLike[str], found: int, expected: int) -> None:
    """Require no more features than the training rows had; the error names the file.

    Examples
    --------
    >>> check_file_width("new.txt", 7, 5)
    Traceback (most recent call last):
    ValueError: new.txt: X has 7 features, but the model was fitted with 5
    """
    try:
        check_width(found, expected)
    except ValueError as error:
        raise ValueError(f"{os.fspath(file)}: {error}") from None


def widened(X: sp.csr_array, n_features: int) -> sp.csr_array:
    """Rows as wide as the model: blocks of a file without a header end with their last feature.

    Examples
    --------
    >>> widened(sp.csr_array([[1]]), 3).shape
    (1, 3)
    """
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
