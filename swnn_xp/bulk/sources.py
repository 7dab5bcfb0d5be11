"""Where rows come from: files and pipes, in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from swnn_xp.bulk.features import RecordRows
from swnn_xp.bulk.inputs import check_file_width, file_identity, widened
from swnn_xp.bulk.records import InputFeatures, KnownFeatures
from swnn_xp.io.blocks import iter_xmc
from swnn_xp.io.errors import FormatError, PathLike
from swnn_xp.io.json_lines import JsonRecord, iter_json_lines
from swnn_xp.io.position import Position
from swnn_xp.io.streams import LiveInput, can_rewind, first_byte
from swnn_xp.text import TextVectorizer

RowId: TypeAlias = str | int | None
"""What a row is called in its input; None where it has no name."""


class RowBlock(NamedTuple):
    """Consecutive rows of a source."""

    X: Any
    first_row: int
    """Number of the block's first row in its source, from 0."""
    end: Position
    """Where the next block begins."""
    ids: Sequence[RowId] | None = None


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

    def identity(self) -> list[Any]:
        """Name, size and time of the file, and how it is read."""
        return [*file_identity(self.path), "jsonl"]

    def blocks(self, rows: int, resume: Position | None = None) -> Iterator[RowBlock]:
        """Blocks of at most `rows` rows."""
        for block in iter_json_lines(self.path, rows, resume=resume):
            X = self.features(self.path, block.records)
            ids = [_id(self.path, record) for record in block.records]
            yield RowBlock(X, block.first_row, block.end, ids)


class NumberedFeatures(NamedTuple):
    """Features without names."""

    n_features_in_: int
    feature_names_: list[str] | None = None
    vectorizer_: TextVectorizer | None = None


def open_source(path: PathLike, clf: InputFeatures, *, strict: bool = False) -> RowSource:
    """Find out by its first byte which source a file or pipe is."""
    where = path if can_rewind(path) else LiveInput(path)
    first = first_byte(where)
    # A pipe without anything is a filter's input without rows, not a file that lacks its header.
    if first == b"{" or (not first and isinstance(where, LiveInput)):
        return JsonRows(where, RecordRows(KnownFeatures.of(clf)))
    return RepositoryRows(where, clf.n_features_in_, strict)


def is_resumable(source: RowSource) -> bool:
    """Whether a source can be read again from where a run was interrupted."""
    return can_rewind(source.path)


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
