"""A shard: some of the training rows, indexed, on one worker; and the recipes that make one.

A recipe is small (or holds the rows themselves), never changes, and gives the same shard wherever
and whenever it is run. Files are named with what they looked like when the recipe was written, so
that a file that is gone or has changed is an error and not another answer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from swnn_xp.classifier import SWNNClassifier
from swnn_xp.distributed.files import Piece, read_pieces
from swnn_xp.rows.records import LabelRows, QuantisedRows

Params = Mapping[str, Any]

# Rough sizes: asking an index on a GPU for its arrays would copy them.
_ENTRY_BYTES, _LABEL_BYTES = 10, 8
_PATH_BYTES = 1000  # opening a folder elsewhere moves nothing but its name


class ShardError(ValueError):
    """A shard can't be made (again), so there is no answer at all."""


class Shard:
    """A fitted classifier over the rows with the ids ``first``, ``first + 1``, ...

    It travels between workers as its rows, or as the folder that it was opened from.
    """

    def __init__(
        self, clf: SWNNClassifier, first: int, size: int, stored: StoredShard | None = None
    ) -> None:
        self.clf, self.first, self._size, self._stored = clf, first, size, stored

    def __reduce__(self) -> tuple[Any, ...]:
        if self._stored is not None:
            return make_shard, (self._stored, self.clf.get_params())
        model = self.clf._model
        return _indexed, (self.clf.get_params(), model.rows(), model.labels, self.first)

    def __sizeof__(self) -> int:
        return self._size  # what Dask weighs a move with


class Recipe(Protocol):
    """How to make a shard."""

    @property
    def first(self) -> int:
        """Id of the first row."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def shard(self, params: Params) -> Shard:
        """Make the shard."""

    def __str__(self) -> str:
        """Name the shard in an error."""


@dataclass(frozen=True)
class MatrixShard:
    """Rows that travel with the recipe."""

    X: Any
    Y: Any
    first: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def shard(self, params: Params) -> Shard:
        """Index the rows."""
        return _fitted(self.X, self.Y, self.first, params)

    def __str__(self) -> str:
        return f"rows {self.first} to {self.first + self.n_rows - 1}"


@dataclass(frozen=True)
class FileShard:
    """Rows in text files on a path that all workers share."""

    pieces: tuple[Piece, ...]
    n_features: int
    n_labels: int
    first: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(piece.n_rows for piece in self.pieces)

    def shard(self, params: Params) -> Shard:
        """Read and index the rows."""
        X, Y = read_pieces(self.pieces, self.n_features, self.n_labels)
        return _fitted(X, Y, self.first, params)

    def __str__(self) -> str:
        return ", ".join(str(piece) for piece in self.pieces)


@dataclass(frozen=True)
class StoredShard:
    """A saved model on a path that all workers share, mapped into memory."""

    path: str
    manifest: str
    """Checksum of its manifest, which holds the checksums of all else."""
    n_rows: int
    first: int = 0

    def shard(self, params: Params) -> Shard:
        """Open the model."""
        if manifest_checksum(self.path) != self.manifest:
            raise ValueError("the model has been replaced since")
        return Shard(SWNNClassifier.load(self.path, **params), self.first, _PATH_BYTES, self)

    def __str__(self) -> str:
        return self.path


def manifest_checksum(path: str | os.PathLike[str]) -> str:
    """Checksum that changes whenever the model in a folder is replaced."""
    return hashlib.sha256((Path(path) / "manifest.json").read_bytes()).hexdigest()


def make_shard(recipe: Recipe, params: Params) -> Shard:
    """Follow a recipe; runs on a worker, again if the worker dies."""
    try:
        return recipe.shard(params)
    except (OSError, ValueError, ImportError) as error:
        raise ShardError(f"the shard of {recipe} can't be made: {error}") from error


def _fitted(X: Any, Y: Any, first: int, params: Params) -> Shard:
    return Shard(SWNNClassifier(**params).fit(X, Y), first, _size(X.nnz, Y.nnz))


def _indexed(params: Params, rows: QuantisedRows, labels: LabelRows, first: int) -> Shard:
    clf = SWNNClassifier._of_rows(rows, labels, **params)
    return Shard(clf, first, _size(rows.indices.size, labels.indices.size))


def _size(n_entries: int, n_labels: int) -> int:
    return _ENTRY_BYTES * n_entries + _LABEL_BYTES * n_labels
