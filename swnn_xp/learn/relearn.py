"""Train some labels again, on the current rows.

A label's model depends on the rows that have it as a candidate: those with one of the label's rows
among their neighbours. The neighbours of all rows are kept beside the model (`KnownNeighbours`),
so that only these rows vote again, and only rows with new neighbours are searched. Sources of
evidence are made again for the current rows, and asked for all of them: which rows list a label may
have changed. Feature weights, vote score and probabilities stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.candidates import N_BINS
from swnn_kernels.learn.evidence import Evidence
from swnn_kernels.learn.known_neighbours import similarities
from swnn_kernels.learn.rank import SCORE_BITS
from swnn_kernels.learn.scorer import Ranker
from swnn_kernels.records import frozen
from swnn_kernels.vote import Labels
from swnn_xp.backends import Options
from swnn_xp.learn.candidates import (
    Candidates,
    Voters,
    candidates_of,
    copy_numbers,
    without_excluded,
)
from swnn_xp.learn.evidence import TrainingSource
from swnn_xp.learn.label_models import LabelModels, group_pairs, quantise_models, train_labels
from swnn_xp.learn.neighbours import SearchPositions, by_id, live_mask, refresh_neighbours
from swnn_xp.learn.ranking import ranking_of
from swnn_xp.learn.settings import TrainingSettings
from swnn_xp.learn.staleness import retrained
from swnn_xp.learn.train import (
    Progress,
    SearchBackend,
    block_size,
    label_problem,
    offsets_of,
    rarity,
    rows_of_sources,
    scales_of,
)
from swnn_xp.model.model import Model
from swnn_xp.results import Neighbours
from swnn_xp.rows.canonical import quantise_rows
from swnn_xp.rows.excluded import without_labels
from swnn_xp.rows.records import LabelRows, QuantisedRows, pointers_of_sizes, take_rows

_HOST = np.empty((0, 0))


def relearn_labels(
    model: Model, wanted: NDArray[np.bool_], settings: TrainingSettings, on_progress: Progress
) -> Model:
    """Train the wanted labels again; return the model with what was learned.

    Parameters
    ----------
    model : Model
    wanted : array of bool (n_labels,)
    settings : TrainingSettings
        Of the training before; what was left to the data then stays as it was.
    on_progress : callable
        Shows progress.
    """
    scaled = model.rows()
    unscaled = quantise_rows(model.value_rows(scaled))
    near = refresh_neighbours(
        model,
        ranking_of(model).known,
        scaled,
        _width(model),
        _searcher(model, scaled, settings, on_progress),
    )
    sources = _sources(model, (unscaled, scaled), settings)
    ranking = ranking_of(model).with_sources(tuple(each.source for each in sources))
    model = replace(model, ranking=ranking)
    evidence = _lister(model, sources)
    chosen = _rows_with(model, wanted, near, evidence, settings)
    blocks = _candidates(model, (unscaled, scaled), near, chosen, evidence, settings, on_progress)
    for block in blocks:
        block.labels[(block.labels >= 0) & ~wanted[block.labels]] = -1
    truth = _only(take_rows(model.checked_labels, chosen), wanted)
    if model.excluded is not None:
        truth = without_labels(truth, take_rows(model.excluded, chosen))
    table = ranking.checked_ranker.tables.reshape(2, -1, N_BINS)[1]
    missed = (
        float(table[:, 0].sum()) * 2.0**-SCORE_BITS if ranking.descent_params.missed > 0 else None
    )
    pairs = group_pairs(blocks, truth, lambda bins: offsets_of(bins, table), missed)
    problem = label_problem(model.label_counts, ranking.descent_params, settings)
    rows = np.flatnonzero(live_mask(model))  # all of them: their lengths decide on the scales
    positions = np.searchsorted(rows, chosen).astype(np.int32)
    models = train_labels(
        take_rows(unscaled, rows), pairs._replace(rows=positions[pairs.rows]), problem,
        settings.n_jobs,
        lambda done, total: on_progress("label models", done, total),
        scales_of(model.feature_weights, ranking.descent_params),
    )  # fmt: skip
    trained = None if ranking.trained is None else retrained(ranking.trained, model, wanted)
    ranker = replace_models(ranking.checked_ranker, models, wanted)
    added = rarity(model.label_counts, model.n_rows, settings.rare_labels)
    ranker = ranker._replace(biases=ranker.biases + np.where(wanted, added, 0))
    known = None if ranking.postings else by_id(model, near)
    ranking = replace(ranking, ranker=ranker, trained=trained, known=known)
    return replace(model, ranking=ranking, version=model.version + 1)


def _width(model: Model) -> int:
    """Neighbours that are known of each row: one more than vote, for each finds itself."""
    return model.n_voters(model.ranking.settings.n_neighbors + 1)


def _searcher(
    model: Model, scaled: QuantisedRows, settings: TrainingSettings, on_progress: Progress
) -> SearchPositions:
    options, step = Options(settings.memory_budget, settings.n_jobs), _block_size(model, settings)

    def search(asked: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Neighbours]]:
        for first in range(0, asked.size, step):
            some = asked[first : first + step]
            queries = model.placement.rows(take_rows(scaled, some))
            beta, postings = model.ranking.settings.beta, model.ranking.postings
            found = model.search(queries, _width(model), beta, options, postings)
            yield some, Neighbours(*model.placement.as_input_kind(_HOST, *found))
            on_progress("neighbours", first + some.size, asked.size)

    return search


_Lister = Callable[[NDArray[np.int64]], list[Evidence]]
"""Gives what each source lists for the rows at these positions."""


def _sources(
    model: Model, rows: tuple[QuantisedRows, QuantisedRows], settings: TrainingSettings
) -> list[TrainingSource]:
    """The model's sources, made again for the rows that are left."""
    known = ranking_of(model).sources
    if not known:
        return []
    left = np.flatnonzero(live_mask(model))
    options = Options(settings.memory_budget, settings.n_jobs)
    backend = SearchBackend(type(model.segments[0]), model.placement, options)
    unscaled, scaled = (take_rows(part, left) for part in rows)
    given = rows_of_sources(unscaled, scaled, take_rows(model.checked_labels, left), backend)
    return [source.made_again(given) for source in known]


def _lister(model: Model, sources: list[TrainingSource]) -> _Lister:
    left = np.flatnonzero(live_mask(model))

    def evidence(positions: NDArray[np.int64]) -> list[Evidence]:
        rows = np.searchsorted(left, positions)
        return [each.leave_one_out(rows) for each in sources]

    return evidence


def _rows_with(
    model: Model,
    wanted: NDArray[np.bool_],
    near: NDArray[np.int32],
    evidence: _Lister,
    settings: TrainingSettings,
) -> NDArray[np.int64]:
    """Positions of rows that have one of the labels, or a neighbour that does; ascending.

    Also of those for which a source lists one.
    """
    labels = model.checked_labels
    own = np.zeros(model.n_positions + 1, bool)  # the last one is that of -1: no neighbour
    of_entries = np.repeat(np.arange(labels.n_rows), np.diff(labels.indptr))
    own[of_entries[wanted[labels.indices]]] = True
    chosen = own[:-1] | own[near].any(axis=1)
    step, is_wanted = _block_size(model, settings), np.append(wanted, False)  # the last: that of -1
    if ranking_of(model).sources:
        others = np.flatnonzero(~chosen & live_mask(model))
        for first in range(0, others.size, step):
            some = others[first : first + step]
            for one in evidence(some):
                chosen[some] |= is_wanted[one.labels].any(axis=1)
    return np.flatnonzero(chosen & live_mask(model))


def _candidates(
    model: Model,
    rows: tuple[QuantisedRows, QuantisedRows],
    near: NDArray[np.int32],
    chosen: NDArray[np.int64],
    evidence: _Lister,
    settings: TrainingSettings,
    on_progress: Progress,
) -> list[Candidates]:
    """Leave-one-out candidates of the chosen rows, by their neighbours."""
    labels, selection, (unscaled, scaled) = model.checked_labels, ranking_of(model).selection, rows
    voters = Voters(Labels.prepare(labels.indptr, labels.indices), copy_numbers(unscaled, labels))
    searched, step = scaled.prepared(), _block_size(model, settings)
    blocks = []
    for first in range(0, chosen.size, step):
        some = chosen[first : first + step]
        sims = similarities(searched, some, near[some], model.ranking.settings.beta)
        found = Neighbours(sims, near[some].astype(np.int64))
        truth = take_rows(labels, some)
        block = candidates_of(found, voters, some, truth, selection, evidence(some))
        excluded = None if model.excluded is None else take_rows(model.excluded, some)
        blocks.append(without_excluded(block, excluded))
        on_progress("candidates", first + some.size, chosen.size)
    return blocks


def _block_size(model: Model, settings: TrainingSettings) -> int:
    return block_size(ranking_of(model).selection, settings)


def _only(labels: LabelRows, wanted: NDArray[np.bool_]) -> LabelRows:
    """The rows with none but the wanted labels."""
    kept = wanted[labels.indices]
    before = pointers_of_sizes(kept.astype(np.int64))
    return LabelRows(before[labels.indptr], labels.indices[kept], labels.n_labels)


def replace_models(ranker: Ranker, models: LabelModels, wanted: NDArray[np.bool_]) -> Ranker:
    """Put the models of the wanted labels in the place of the old ones.

    All weights share one scale: if a new weight needs a larger one, the old ones are rounded to it.
    """
    new = quantise_models(models, ranker.tables, min_shift=ranker.shift)
    n_labels, n_old = wanted.size, ranker.modelled.size
    old_labels = np.repeat(np.arange(n_old), np.diff(ranker.indptr))
    weights = ranker.weights
    if new.shift != ranker.shift:
        weights = np.rint(weights / 2.0 ** (new.shift - ranker.shift)).astype(np.int16)
    kept = ~wanted[old_labels] & (weights != 0)
    old = old_labels[kept], ranker.features[kept], weights[kept]
    new_labels = np.repeat(np.arange(n_labels), np.diff(new.indptr))
    indptr, features, weights = _by_label(old, (new_labels, new.features, new.weights), n_labels)

    def merged(old: NDArray[np.generic], found: NDArray[np.generic]) -> NDArray[np.generic]:
        return np.where(wanted, found, np.pad(old, (0, n_labels - n_old)))

    return Ranker(
        indptr=indptr,
        features=features,
        weights=weights,
        biases=merged(ranker.biases, new.biases).astype(np.int64),
        modelled=merged(ranker.modelled, new.modelled).astype(np.uint8),
        tables=frozen(ranker.tables),
        shift=new.shift,
    )


_Entries = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int16]]


def _by_label(
    old: _Entries, new: _Entries, n_labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int16]]:
    """Weights of all labels: of each either the old or the new ones, which keep their order."""
    sizes = [np.bincount(part[0], minlength=n_labels) for part in (old, new)]
    indptr = pointers_of_sizes(sizes[0] + sizes[1])
    features, weights = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.int16)
    for (labels, *values), size in zip((old, new), sizes, strict=True):
        positions = np.arange(labels.size) + (indptr[:-1] - pointers_of_sizes(size)[:-1])[labels]
        features[positions], weights[positions] = values
    return indptr, features, weights
