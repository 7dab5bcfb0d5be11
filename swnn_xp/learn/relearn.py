"""Train some labels again, on the rows of the moment.

A label's model depends on the rows that have it as a candidate: those near its own rows. Only their
neighbours are searched again. Feature weights, vote score and probabilities stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.dtypes import frozen
from swnn_kernels.learn.bins import N_BINS
from swnn_kernels.learn.rank import SCORE_BITS
from swnn_kernels.learn.scorer import Ranker
from swnn_kernels.vote.labels import Labels
from swnn_xp.backends import Options
from swnn_xp.learn.candidates import Candidates, Voters, candidates_of, copy_numbers
from swnn_xp.learn.descent import LabelModels, group_pairs, train_labels
from swnn_xp.learn.quantised_models import quantise_models
from swnn_xp.learn.rarity import rarity
from swnn_xp.learn.records import Learned
from swnn_xp.learn.settings import TrainingSettings
from swnn_xp.learn.staleness import retrained
from swnn_xp.learn.train import Progress, block_size, label_problem, offsets_of, scales_of
from swnn_xp.model.model import Model
from swnn_xp.results import Neighbours
from swnn_xp.rows.quantise import quantise_rows
from swnn_xp.rows.records import LabelRows, QuantisedRows
from swnn_xp.rows.slicing import pointers_of_sizes, slice_rows, take_rows

_REACH = 2  # neighbours of a label's rows that are looked at, relative to those that vote
_HOST = np.empty((0, 0))


def relearn_labels(
    model: Model, wanted: NDArray[np.bool_], settings: TrainingSettings, tell: Progress
) -> Model:
    """Train the wanted labels again; the model is the same but for what was learned.

    Parameters
    ----------
    model : Model
    wanted : array of bool (n_labels,)
    settings : TrainingSettings
        Of the training before; what was left to the data then stays as it was.
    tell : callable
        Shows progress.
    """
    learned: Learned = model.learned
    plain = quantise_rows(model.value_rows())
    chosen = _rows_near(model, wanted, settings)
    blocks = _candidates(model, plain, chosen, settings, tell)
    for block in blocks:
        block.labels[(block.labels >= 0) & ~wanted[block.labels]] = -1
    truth = _only(take_rows(model.checked_labels, chosen), wanted)
    n_cuts = len(learned.selection.cuts)
    table = learned.checked_ranker.tables.reshape(2, n_cuts, N_BINS)[1]
    missed = float(table[:, 0].sum()) * 2.0**-SCORE_BITS if learned.rule.missed > 0 else None
    pairs = group_pairs(blocks, truth, lambda bins: offsets_of(bins, table), missed)
    problem = label_problem(model.label_counts, learned.rule, settings)
    rows = np.flatnonzero(_there(model))  # all of them: their lengths decide on the scales
    places = np.searchsorted(rows, chosen).astype(np.int32)
    models = train_labels(
        take_rows(plain, rows), pairs._replace(rows=places[pairs.rows]), problem, settings.n_jobs,
        lambda done, total: tell("label models", done, total),
        scales_of(model.feature_weights, learned.rule),
    )  # fmt: skip
    trained = None if learned.trained is None else retrained(learned.trained, model, wanted)
    ranker = replace_models(learned.checked_ranker, models, wanted)
    added = rarity(model.label_counts, model.n_rows, settings.rare_labels)
    ranker = ranker._replace(biases=ranker.biases + np.where(wanted, added, 0))
    learned = replace(learned, ranker=ranker, trained=trained)
    return replace(model, learned=learned, version=model.version + 1)


def _rows_near(
    model: Model, wanted: NDArray[np.bool_], settings: TrainingSettings
) -> NDArray[np.int64]:
    """Positions of rows that may have one of the labels as a candidate, ascending."""
    labels, there = model.checked_labels, _there(model)
    own = np.repeat(np.arange(labels.n_rows), np.diff(labels.indptr))[wanted[labels.indices]]
    own = np.unique(own[there[own]])
    S = model.learned.selection.cuts[-1]
    near = np.zeros(model.n_positions, bool)
    near[own] = True
    if own.size * _REACH * S >= model.n_rows:
        return np.flatnonzero(there)
    ids = _search(model, take_rows(model.rows(), own), _REACH * S, settings).ids
    near[ids[ids >= 0]] = True
    return np.flatnonzero(near)


def _there(model: Model) -> NDArray[np.bool_]:
    """Marks of positions that were not removed."""
    return np.ones(model.n_positions, bool) if model.removed is None else ~model.removed


def _candidates(
    model: Model,
    plain: QuantisedRows,
    chosen: NDArray[np.int64],
    settings: TrainingSettings,
    tell: Progress,
) -> list[Candidates]:
    """Leave-one-out candidates of the chosen rows."""
    labels, selection = model.checked_labels, model.learned.selection
    voters = Voters(Labels.prepare(labels.indptr, labels.indices), copy_numbers(plain, labels))
    scaled, step = take_rows(model.rows(), chosen), block_size(selection, settings)
    blocks = []
    for first in range(0, chosen.size, step):
        last = min(first + step, chosen.size)
        found = _search(model, slice_rows(scaled, first, last), selection.cuts[-1] + 1, settings)
        truth = take_rows(labels, chosen[first:last])
        blocks.append(candidates_of(found, voters, chosen[first:last], truth, selection))
        tell("neighbours", last, chosen.size)
    return blocks


def _search(
    model: Model, rows: QuantisedRows, n_neighbors: int, settings: TrainingSettings
) -> Neighbours:
    options = Options(settings.memory_budget, settings.n_jobs)
    wanted = model.n_voters(n_neighbors)
    found = model.search(model.placement.rows(rows), wanted, settings.beta, options)
    return Neighbours(*model.placement.as_input_kind(_HOST, *found))


def _only(labels: LabelRows, wanted: NDArray[np.bool_]) -> LabelRows:
    """Rows with the wanted labels alone."""
    kept = wanted[labels.indices]
    before = pointers_of_sizes(kept.astype(np.int64))
    return LabelRows(before[labels.indptr], labels.indices[kept], labels.n_labels)


def replace_models(ranker: Ranker, models: LabelModels, wanted: NDArray[np.bool_]) -> Ranker:
    """Put the models of the wanted labels in the place of the old ones.

    All weights share one scale: if a new weight needs a larger one, the old ones are rounded to it.
    """
    new = quantise_models(models, ranker.tables, least_shift=ranker.shift)
    n_labels, n_old = wanted.size, ranker.modelled.size
    old_labels = np.repeat(np.arange(n_old), np.diff(ranker.indptr))
    weights = np.rint(ranker.weights / 2.0 ** (new.shift - ranker.shift)).astype(np.int16)
    kept = ~wanted[old_labels] & (weights != 0)
    new_labels = np.repeat(np.arange(n_labels), np.diff(new.indptr))
    labels = np.concatenate([old_labels[kept], new_labels])
    features = np.concatenate([ranker.features[kept], new.features])
    order = np.lexsort((features, labels))

    def merged(old: NDArray[np.generic], found: NDArray[np.generic]) -> NDArray[np.generic]:
        return np.where(wanted, found, np.pad(old, (0, n_labels - n_old)))

    return Ranker(
        indptr=pointers_of_sizes(np.bincount(labels, minlength=n_labels)),
        features=features[order],
        weights=np.concatenate([weights[kept], new.weights])[order],
        biases=merged(ranker.biases, new.biases).astype(np.int64),
        modelled=merged(ranker.modelled, new.modelled).astype(np.uint8),
        tables=frozen(ranker.tables),
        shift=new.shift,
    )
