"""What comes before label models: feature weights, and an index over the rows scaled by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from swnn_xp.backends import Index, Options, Placement
from swnn_xp.learn.elsewhere import helpers
from swnn_xp.learn.host_search import Search, host_search
from swnn_xp.learn.indexing import host_indexer
from swnn_xp.learn.settings import TrainingSettings
from swnn_xp.learn.train import Progress, Training, learn_feature_weights
from swnn_xp.model.changes import new_model
from swnn_xp.model.model import Model
from swnn_xp.rows.quantise import quantise_rows
from swnn_xp.rows.records import LabelRows, ValueRows


class Machine(NamedTuple):
    """What searches, and where."""

    index_class: type[Index]
    placement: Placement
    options: Options


class Prepared(NamedTuple):
    """Rows that are ready to learn from."""

    training: Training
    model: Model
    """The rows indexed, with their feature weights; nothing else is learned yet."""
    search: Search
    """Searches the index of the model."""
    settings: TrainingSettings
    """With numbers of neighbours and candidates where they were left to the data."""
    asked: TrainingSettings
    """As they were given."""
    recall: float
    """Of the first round; 1 without one."""


def prepare(
    rows: ValueRows,
    labels: LabelRows,
    settings: TrainingSettings,
    machine: Machine,
    tell: Progress,
    *,
    weighted: bool = True,
    names: Mapping[str, list[str]] | None = None,
) -> Prepared:
    """Learn feature weights, if wanted, and index the rows scaled by them."""
    index_class, placement, options = machine
    weights, recall = None, 1.0
    if weighted:
        index = host_indexer(index_class, placement, options)
        weights, recall = learn_feature_weights(rows, labels, settings, index, tell)
    plain, scaled = quantise_rows(rows), quantise_rows(rows, weights)
    model = new_model(index_class, placement, placement.rows(scaled), labels, names or {})
    others = helpers()
    return Prepared(
        Training(plain, scaled, labels, weights=weights),
        replace(model, feature_weights=weights),
        others.index(scaled) if others else host_search(model.segments[0], placement, options),
        settings.with_sizes(recall),
        settings,
        recall,
    )
