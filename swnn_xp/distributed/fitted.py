"""A fitted model cut into shards, and its ranker without rows, if it has one."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swnn_xp.distributed.file_slices import even_bounds
from swnn_xp.distributed.shards import RankerRecipe, Recipe, RowsRecipe
from swnn_xp.loading import AnyModel, is_ranked
from swnn_xp.model.changes import new_model
from swnn_xp.model.model import Model
from swnn_xp.rows.records import LabelRows, QuantisedRows
from swnn_xp.rows.slicing import keep_rows, slice_rows

if TYPE_CHECKING:
    from swnn_xp.ranker import SWNNRanker


class FittedParts(NamedTuple):
    """How to make the parts of a fitted model again."""

    recipes: list[Recipe]
    ranker: RankerRecipe | None
    params: dict[str, Any]
    """Those that determine the neighbours."""


def fitted_parts(clf: AnyModel, n_shards: int) -> FittedParts:
    """Cut the rows of a fitted model into shards."""
    model = clf._fitted_model()
    rows, labels = _remaining(model)
    recipes: list[Recipe] = [
        RowsRecipe(
            slice_rows(rows, start, stop),
            slice_rows(labels, start, stop),
            model.feature_weights,
            start,
        )
        for start, stop in pairwise(even_bounds(rows.n_rows, n_shards))
    ]
    ranker = RankerRecipe(without_rows(clf)) if is_ranked(clf) else None
    return FittedParts(recipes, ranker, clf._settings()._asdict())


def without_rows(clf: SWNNRanker) -> SWNNRanker:
    """Copy a ranker, without the training rows."""
    model = clf._fitted_model()
    empty = QuantisedRows(
        np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), model.n_features
    )
    labels = LabelRows(np.zeros(1, np.int64), np.zeros(0, np.int32), model.labels.n_labels)
    bare = new_model(type(model.segments[0]), model.placement, empty, labels)
    copied = copy.copy(clf)
    learned = replace(model.learned, known=None)  # neighbours of the rows that it lacks
    copied._model = replace(bare, feature_weights=model.feature_weights, learned=learned)
    return copied


def _remaining(model: Model) -> tuple[QuantisedRows, LabelRows]:
    rows, labels = model.rows(), model.checked_labels
    if model.removed is None:
        return rows, labels
    return keep_rows(rows, ~model.removed), keep_rows(labels, ~model.removed)
