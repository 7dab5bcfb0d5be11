"""Shards and their recipes.

A shard is some of the training rows, indexed, on one worker. Its recipe is small (or holds the rows
themselves), never changes, and makes the same shard wherever and whenever it runs: from matrices,
slices of text files, a saved model, or the rows of a fitted one. Recipes record what their files
looked like, so that a file that is missing or has changed is an error and not a different answer.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from swnn_xp.bulk.journal import model_digest
from swnn_xp.classifier import SWNNClassifier
from swnn_xp.io import FormatError, Position, iter_xmc
from swnn_xp.io.files import PathLike, open_input
from swnn_xp.io.grammar import Rules
from swnn_xp.io.reading import limit_of, open_table
from swnn_xp.loading import AnyModel, holds_ranker, load
from swnn_xp.model.changes import new_model
from swnn_xp.model.model import Model
from swnn_xp.rows.records import LabelRows, QuantisedRows, keep_rows, slice_rows

if TYPE_CHECKING:
    from swnn_xp.ranker import SWNNRanker


@dataclass(frozen=True)
class FileSlice:
    """Consecutive rows of a file, and the file's size and time when it was sliced."""

    path: str
    position: Position
    """Before the first row."""
    n_rows: int
    is_last: bool
    """Whether the file ends here."""
    file_bytes: int
    file_time: int
    """Nanoseconds."""

    def __str__(self) -> str:
        first = self.position.row
        return f"{self.path} (rows {first} to {first + self.n_rows - 1})"


class FileShape(NamedTuple):
    """The header of a file."""

    n_rows: int
    n_features: int
    n_labels: int
    position: Position
    """Before the first row."""


def as_paths(files: PathLike | Sequence[PathLike]) -> list[PathLike]:
    """Accept one path as a list of one."""
    return [files] if isinstance(files, str | os.PathLike) else list(files)


def read_shape(path: PathLike) -> FileShape:
    """Read the header of a file."""
    rules = Rules(strict=False, limit=limit_of(np.float32))
    with open_table(path, rules, header=True, engine="python") as table:
        widths = table.rules.n_features or 0, table.rules.n_labels or 0
        return FileShape(table.n_rows or 0, *widths, table.reader.position)


def slice_file(path: PathLike, n_slices: int) -> list[FileSlice]:
    """Cut a file into at most ``n_slices`` slices of nearly equal numbers of rows.

    A row is a line, so lines are counted and not parsed.
    """
    shape, status = read_shape(path), os.stat(path)
    slices, position = [], shape.position
    with open_input(path) as stream:
        stream.seek(position.offset)
        for start, stop in pairwise(even_bounds(shape.n_rows, n_slices)):
            slices.append(
                FileSlice(
                    os.fspath(Path(path).absolute()),
                    position,
                    stop - start,
                    stop == shape.n_rows,
                    status.st_size,
                    status.st_mtime_ns,
                )
            )
            lengths = [len(line) for line in islice(stream, stop - start)]
            if len(lengths) < stop - start:
                found = start + len(lengths)
                what = f"the header says {shape.n_rows} rows, the file ends after {found}"
                raise FormatError(path, position.line + len(lengths) + 1, what)
            position = Position(stop, position.line + len(lengths), position.offset + sum(lengths))
    return slices


def even_bounds(total: int, n_runs: int) -> list[int]:
    """Bounds of ``n_runs`` runs of nearly equal size, none of them empty.

    Examples
    --------
    >>> even_bounds(10, 3)
    [0, 3, 6, 10]
    """
    n_runs = max(1, min(n_runs, total))
    return [total * i // n_runs for i in range(n_runs + 1)]


def read_slices(slices: Sequence[FileSlice], n_features: int, n_labels: int) -> tuple[Any, Any]:
    """Read slices, stacked, as matrices of the given widths."""
    matrices = [_read_slice(file_slice) for file_slice in slices]
    return (
        sp.vstack([_widened(X, n_features) for X, _ in matrices], format="csr"),
        sp.vstack([_widened(y, n_labels) for _, y in matrices], format="csr"),
    )


def _read_slice(file_slice: FileSlice) -> tuple[Any, Any]:
    status = os.stat(file_slice.path)
    if (status.st_size, status.st_mtime_ns) != (file_slice.file_bytes, file_slice.file_time):
        raise ValueError("the file has changed since")
    blocks = iter_xmc(file_slice.path, rows=file_slice.n_rows, resume=file_slice.position)
    block = next(blocks)
    if file_slice.is_last:
        for _ in blocks:  # nothing follows, or the reader raises
            pass
    return block.X, block.y


def _widened(matrix: Any, width: int) -> Any:
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], width))


Params = Mapping[str, Any]

# Estimates: asking an index on a GPU for its arrays would copy them.
_ENTRY_BYTES, _LABEL_BYTES = 10, 8
_PATH_BYTES = 1000  # opening a folder on another worker moves only its name
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
        model, recipe = self.clf.model_, self._recipe
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
        clf = SWNNClassifier.from_rows(self.rows, self.labels, self.feature_weights, **params)
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
        from swnn_xp.learn.ranking import ranking_of  # it needs numba, which votes do not

        ranker = ranking_of(self.clf.model_).checked_ranker
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


def rows_recipes(
    rows: QuantisedRows, labels: LabelRows, feature_weights: Any, n_shards: int
) -> list[RowsRecipe]:
    """Cut rows into shards of nearly equal size."""
    return [
        RowsRecipe(
            slice_rows(rows, start, stop), slice_rows(labels, start, stop), feature_weights, start
        )
        for start, stop in pairwise(even_bounds(rows.n_rows, n_shards))
    ]


def without_rows(clf: SWNNRanker, model: Model) -> SWNNRanker:
    """Copy a ranker, without the training rows."""
    from swnn_xp.learn.ranking import ranking_of  # it needs numba, which votes do not

    empty = QuantisedRows(
        np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), model.n_features
    )
    labels = LabelRows(np.zeros(1, np.int64), np.zeros(0, np.int32), model.labels.n_labels)
    bare = new_model(type(model.segments[0]), model.placement, empty, labels)
    ranking = replace(ranking_of(model), known=None)  # neighbours of the rows that it lacks
    return clf.with_model(replace(bare, feature_weights=model.feature_weights, ranking=ranking))


def remaining_rows(model: Model) -> tuple[QuantisedRows, LabelRows]:
    """The rows of a model without those that were removed."""
    rows, labels = model.rows(), model.checked_labels
    if model.removed is None:
        return rows, labels
    return keep_rows(rows, ~model.removed), keep_rows(labels, ~model.removed)
