"""A shard: some of the training rows, indexed, on one worker; and the recipes that make one.

A recipe is small (or holds the rows themselves), never changes, and makes the same shard wherever
and whenever it runs. Recipes record what their files looked like, so that a file that is missing or
has changed is an error and not a different answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from swnn_xp.bulk.model_digest import model_digest
from swnn_xp.classifier import SWNNClassifier
from swnn_xp.distributed.file_slices import FileSlice, read_slices
from swnn_xp.rows.records import LabelRows, QuantisedRows

Params = Mapping[str, Any]

# Estimates: asking an index on a GPU for its arrays would copy them.
_ENTRY_BYTES, _LABEL_BYTES = 10, 8
_PATH_BYTES = 1000  # opening a folder elsewhere moves only its name


class ShardError(ValueError):
    """A shard can't be made (again), so there is no answer."""


class Shard:
    """A fitted classifier over the rows with the ids ``first``, ``first + 1``, ...

    It moves between workers as its rows, or as the folder that it was opened from.
    """

    def __init__(
        self, clf: SWNNClassifier, first: int, size: int, stored: StoredRecipe | None = None
    ) -> None:
        self.clf, self.first, self._size, self._stored = clf, first, size, stored

    def __reduce__(self) -> tuple[Any, ...]:
        if self._stored is not None:
            return make_shard, (self._stored, self.clf.get_params())
        model = self.clf._model
        return _indexed, (self.clf.get_params(), model.rows(), model.labels, self.first)

    def __sizeof__(self) -> int:
        return self._size  # Dask estimates the cost of a move by it


class Recipe(Protocol):
    """How to make a shard."""

    @property
    def first(self) -> int:
        """Id of the first row."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def make(self, params: Params) -> Shard:
        """Make the shard."""

    def __str__(self) -> str:
        """Name the shard in an error."""


@dataclass(frozen=True)
class MatrixRecipe:
    """Rows that are part of the recipe."""

    X: Any
    Y: Any
    first: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def make(self, params: Params) -> Shard:
        """Index the rows."""
        return _fitted(self.X, self.Y, self.first, params)

    def __str__(self) -> str:
        return f"rows {self.first} to {self.first + self.n_rows - 1}"


@dataclass(frozen=True)
class FileRecipe:
    """Rows in text files on a path that all workers share."""

    slices: tuple[FileSlice, ...]
    n_features: int
    n_labels: int
    first: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(file_slice.n_rows for file_slice in self.slices)

    def make(self, params: Params) -> Shard:
        """Read and index the rows."""
        X, Y = read_slices(self.slices, self.n_features, self.n_labels)
        return _fitted(X, Y, self.first, params)

    def __str__(self) -> str:
        return ", ".join(map(str, self.slices))


@dataclass(frozen=True)
class StoredRecipe:
    """A saved model on a path that all workers share, mapped into memory."""

    path: str
    manifest: str
    """Digest of its manifest (`model_digest`)."""
    n_rows: int
    first: int = 0

    def make(self, params: Params) -> Shard:
        """Open the model."""
        if model_digest(self.path) != self.manifest:
            raise ValueError("the model has been replaced since")
        return Shard(SWNNClassifier.load(self.path, **params), self.first, _PATH_BYTES, self)

    def __str__(self) -> str:
        return self.path


def make_shard(recipe: Recipe, params: Params) -> Shard:
    """Follow a recipe; runs on a worker, again if the worker dies."""
    try:
        return recipe.make(params)
    except (OSError, ValueError, ImportError) as error:
        raise ShardError(f"the shard of {recipe} can't be made: {error}") from error


def _fitted(X: Any, Y: Any, first: int, params: Params) -> Shard:
    return Shard(SWNNClassifier(**params).fit(X, Y), first, _size(X.nnz, Y.nnz))


def _indexed(params: Params, rows: QuantisedRows, labels: LabelRows, first: int) -> Shard:
    clf = SWNNClassifier._of_rows(rows, labels, **params)
    return Shard(clf, first, _size(rows.indices.size, labels.indices.size))


def _size(n_entries: int, n_labels: int) -> int:
    return _ENTRY_BYTES * n_entries + _LABEL_BYTES * n_labels
