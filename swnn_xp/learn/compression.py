"""A ranker over fewer rows: each row that is kept stands for the rows that are most like it.

A row that stands for others votes for their labels as well as for its own, so that few labels are
lost as candidates. The label models learn from all rows, and a row's candidates come from the rows
that are kept; the one that stands for it must not vote, for it brings the row's own labels along.

How closely models fit is a matter of the data, not of the part that is kept: the agreement of vote
and labels that decides on it is taken from all rows, for a sample of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from swnn_xp.backends.index import Search, host_search
from swnn_xp.learn.candidates import candidates_of, copy_numbers
from swnn_xp.learn.centroids import Centroids
from swnn_xp.learn.ranking import ranking_of
from swnn_xp.learn.settings import TrainingSettings
from swnn_xp.learn.train import (
    Prepared,
    Progress,
    Representatives,
    SearchBackend,
    Training,
    block_size,
    selection_of,
    train,
    vote_agreement,
    with_sources,
)
from swnn_xp.model.changes import compact, covering_rows, new_model
from swnn_xp.model.model import Model
from swnn_xp.rows.canonical import quantise_rows
from swnn_xp.rows.records import LabelRows, QuantisedRows, ValueRows, slice_rows, take_rows

_BLOCK = 16_384
_SAMPLE = 5_000  # rows in the sample that measures how vote and labels agree


def train_part(
    ready: Prepared, backend: SearchBackend, keep: float, on_progress: Progress
) -> Model:
    """Train a ranker on all rows, with a part of them in the index."""
    if keep < 1:
        on_progress("choosing rows", 0, 1)
        ready = _compressed(ready, keep, backend)
    ranking = train(ready.training, ready.search, ready.settings, on_progress)
    return replace(ready.model, ranking=replace(ranking, cap_cost=ready.cap_cost))


def _compressed(ready: Prepared, keep: float, backend: SearchBackend) -> Prepared:
    """Leave a part of the rows in the index."""
    scaled, labels = ready.training.scaled, ready.training.labels
    settings, ids = ready.settings, ready.model.row_ids
    agreement = _sampled_agreement(ready)
    kept = covering_rows(labels, keep, settings.random_state)
    index_class, placement, options = backend
    small = new_model(index_class, placement, placement.rows(take_rows(scaled, kept)), labels)
    search = host_search(small.segments[0], placement, options)
    nearest = _nearest(scaled, search, settings.beta)
    nearest[kept] = np.arange(kept.size)
    merged = merged_labels(labels, nearest, kept.size)
    model = replace(
        ready.model,
        segments=small.segments,
        labels=merged,
        row_ids=kept if ids is None else ids[kept],
    )
    copies = copy_numbers(take_rows(ready.training.unscaled, kept), take_rows(labels, kept))
    part = Representatives(merged, nearest, copies, agreement)
    training = ready.training._replace(representatives=part)
    settings = settings.for_part(ready.asked, keep)
    return ready._replace(training=training, model=model, search=search, settings=settings)


def _sampled_agreement(ready: Prepared) -> float:
    """Agreement of vote and labels with all rows in the index, by a sample of them."""
    training, settings = ready.training._replace(sources=()), ready.settings
    scaled, labels = training.scaled, training.labels
    rows = np.arange(labels.n_rows)
    if rows.size > _SAMPLE:
        rng = np.random.default_rng(settings.random_state)
        rows = np.sort(rng.choice(rows.size, _SAMPLE, replace=False))
    selection, voters = selection_of(settings, training), training.voters()
    step, blocks = block_size(selection, settings), []
    for first in range(0, rows.size, step):
        some = rows[first : first + step]
        found = ready.search(take_rows(scaled, some), selection.cuts[-1] + 1, settings.beta)
        blocks.append(candidates_of(found, voters, some, take_rows(labels, some), selection))
    counts = np.bincount(labels.indices, minlength=labels.n_labels)
    return vote_agreement(blocks, take_rows(labels, rows), counts)


def _nearest(rows: QuantisedRows, search: Search, beta: float) -> NDArray[np.int64]:
    """Position of the most similar row of the index for each row; -1 if none is similar at all."""
    starts = range(0, rows.n_rows, _BLOCK)
    blocks = (slice_rows(rows, first, min(first + _BLOCK, rows.n_rows)) for first in starts)
    nearest = [search(block, 1, beta).ids[:, 0] for block in blocks]
    return np.concatenate([np.zeros(0, np.int64), *nearest])


def merged_labels(labels: LabelRows, nearest: NDArray[np.int64], n_kept: int) -> LabelRows:
    """Labels of all rows that each kept row stands for.

    Examples
    --------
    >>> labels = LabelRows(np.arange(4), np.asarray([4, 2, 4], np.int32), 5)
    >>> merged_labels(labels, np.asarray([0, 0, 1]), 2)
    LabelRows(indptr=array([0, 2, 3]), indices=array([2, 4, 4], dtype=int32), n_labels=5)
    """
    sizes = np.diff(labels.indptr)
    at_row = np.repeat(nearest, sizes)
    there = at_row >= 0
    pairs = np.unique(at_row[there] * labels.n_labels + labels.indices[there])
    indptr = np.searchsorted(pairs, np.arange(n_kept + 1) * labels.n_labels)
    indices = (pairs % max(1, labels.n_labels)).astype(np.int32)
    return LabelRows(indptr.astype(np.int64), indices, labels.n_labels)


def prepare_again(model: Model, settings: TrainingSettings, backend: SearchBackend) -> Prepared:
    """Make the rows of a trained model ready to learn from once more, with its feature weights."""
    model = compact(model)
    model = replace(model, labels=model.checked_labels, version=model.version + 1, untrusted=False)
    ranking, scaled = ranking_of(model), model.rows()
    unscaled = quantise_rows(unscaled_rows(model))
    sized = settings._replace(
        n_neighbors=ranking.selection.cuts[-1],
        n_candidates=ranking.selection.n_candidates,
        centroids=any(source.name == Centroids.name for source in ranking.sources),
        search=ranking.postings or "exact",
    )
    used = model.feature_weights
    scaled_models = ranking.descent_params.scale_power > 0
    ready = Prepared(
        Training(
            unscaled,
            scaled,
            model.labels,
            weights=used,
            scales_models=scaled_models,
            excluded=model.excluded,
        ),
        model,
        host_search(model.segments[0], backend.placement, backend.options),
        sized,
        settings,
        ranking.recall,
        ranking.cap_cost,
    )
    names = ranking.names
    return with_sources(ready, backend, None if names is None else names.given)


def unscaled_rows(model: Model) -> ValueRows:
    """The rows of a model as they were given; up to rounding if it does not hold their values."""
    if model.values is not None:
        return model.value_rows()
    rows = model.rows()
    values = rows.quantised.astype(np.float64)
    if model.feature_weights is not None:
        values = values / model.feature_weights[rows.indices]
    return ValueRows(rows.indptr, rows.indices, values, rows.n_features)
