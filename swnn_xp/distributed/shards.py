"""A shard: some of the training rows, indexed, on one worker; and the recipes that make one.

A recipe is small (or holds the rows themselves), never changes, and makes the same shard wherever
and whenever it runs. Recipes record what their files looked like, so that a file that is missing or
has changed is an error and not a different answer.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from swnn_xp.bulk.model_digest import model_digest
from swnn_xp.classifier import SWNNClassifier
from swnn_xp.distributed.file_slices import FileSlice, read_slices
from swnn_xp.loading import AnyModel, holds_ranker, load
from swnn_xp.rows.records import LabelRows, QuantisedRows

if TYPE_CHECKING:
    from swnn_xp.ranker import SWNNRanker

Params = Mapping[str, Any]

# Estimates: asking an index on a GPU for its arrays would copy them.
_ENTRY_BYTES, _LABEL_BYTES = 10, 8
_PATH_BYTES = 1000  # opening a folder elsewhere moves only its name
_MACHINE = ("backend", "memory_budget", "n_jobs", "device")
_NEIGHBOURS = ("n_neighbors", "alpha", "beta")


class ShardError(ValueError):
    """A shard can't be made (again), so there is no answer."""


class Shard:
    """A fitted estimator over the rows with the ids ``first``, ``first + 1``, ...

    It moves between workers as its rows, or as a recipe that is smaller than they are.
    """

    def __init__(self, clf: AnyModel, first: int, size: int, recipe: Recipe | None = None) -> None:
        self.clf, self.first, self._size, self._recipe = clf, first, size, recipe

    def __reduce__(self) -> tuple[Any, ...]:
        model, recipe = self.clf._model, self._recipe
        if recipe is None:
            recipe = RowsRecipe(model.rows(), model.labels, model.feature_weights, self.first)
        return make_shard, (recipe, self.clf.get_params())

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
    y: Any
    first: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def make(self, params: Params) -> Shard:
        """Index the rows."""
        return _fitted(self.X, self.y, self.first, params)

    def __str__(self) -> str:
        return f"rows {self.first} to {self.first + self.n_rows - 1}"


@dataclass(frozen=True)
class RowsRecipe:
    """Rows of a fitted model, scaled by its feature weights if it has any."""

    rows: QuantisedRows
    labels: LabelRows
    feature_weights: Any
    first: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    def make(self, params: Params) -> Shard:
        """Index the rows."""
        clf = SWNNClassifier._of_rows(self.rows, self.labels, **params)
        clf._model = replace(clf._model, feature_weights=self.feature_weights)
        return Shard(clf, self.first, _size(self.rows.indices.size, self.labels.indices.size))

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
        X, y = read_slices(self.slices, self.n_features, self.n_labels)
        return _fitted(X, y, self.first, params)

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
        known = machine_params(params)
        if not holds_ranker(self.path):  # which has the settings of its training
            known |= {name: params[name] for name in _NEIGHBOURS if name in params}
        return Shard(load(self.path, **known), self.first, _PATH_BYTES, self)

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class RankerRecipe:
    """A ranker without rows: it ranks the candidates of neighbours that shards have found."""

    clf: SWNNRanker
    first: int = 0
    n_rows: int = 0

    def make(self, params: Params) -> Shard:
        """Copy the ranker for the machine that it is on."""
        ranker = self.clf._model.learned.checked_ranker
        size = sum(array.nbytes for array in ranker if hasattr(array, "nbytes"))
        return Shard(copy.copy(self.clf).set_params(**machine_params(params)), 0, size, self)

    def __str__(self) -> str:
        return "the ranker"


def machine_params(params: Params) -> dict[str, Any]:
    """The parameters of how an answer is computed, without those that determine it."""
    return {name: params[name] for name in _MACHINE if name in params}


def make_shard(recipe: Recipe, params: Params) -> Shard:
    """Follow a recipe; runs on a worker, again if the worker dies."""
    try:
        return recipe.make(params)
    except (OSError, ValueError, ImportError) as error:
        raise ShardError(f"the shard of {recipe} can't be made: {error}") from error


def _fitted(X: Any, y: Any, first: int, params: Params) -> Shard:
    return Shard(SWNNClassifier(**params).fit(X, y), first, _size(X.nnz, y.nnz))


def _size(n_entries: int, n_labels: int) -> int:
    return _ENTRY_BYTES * n_entries + _LABEL_BYTES * n_labels
