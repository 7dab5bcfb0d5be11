"""Labels ranked by the learned ranker: candidates that neighbours vote for, sorted by their models.

A candidate's score is its vote score, one table entry for each cut and each table of a source of
evidence, plus the label's bias and, if it has a model, the exact product of its weights and the
query. Kernels compute it where a backend has them, else array functions: the same integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device

from swnn_kernels.learn.candidates import N_BINS, Selection
from swnn_kernels.learn.evidence import Evidence, SourceShape
from swnn_kernels.learn.rank import SCORE_BITS
from swnn_kernels.learn.scorer import Ranker, Scorer
from swnn_kernels.learn.session import CandidateRanker, Lister, RankingSession
from swnn_kernels.parallel import BufferPool, once_property
from swnn_kernels.records import frozen
from swnn_xp.backends import Options, Settings
from swnn_xp.learn.candidates import bins_of
from swnn_xp.learn.centroids import Centroids
from swnn_xp.learn.evidence import Source, own_tables
from swnn_xp.learn.explain import (
    RankedExplanation,
    SourcePart,
    explain_candidate,
    has_model,
    linear_parts,
)
from swnn_xp.learn.names import LabelNames
from swnn_xp.learn.neighbours import KnownNeighbours
from swnn_xp.learn.settings import DescentParams
from swnn_xp.learn.staleness import Trained
from swnn_xp.model.calibration import (
    Calibration,
    calibration_from,
    predicted,
    score_probability,
    stored_calibration,
)
from swnn_xp.model.explain import explain_votes
from swnn_xp.model.files import SavedModel
from swnn_xp.model.model import CSR, Extra, LabelRanking, MatrixOf, Model, Queries, RowRanker
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.canonical import check_dtypes, check_pointers, check_range, is_ascending
from swnn_xp.rows.input_kind import host_array, host_rows
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows, longest_row, slice_rows
from swnn_xp.search import pad_to
from swnn_xp.store import StoreError
from swnn_xp.vote import Votes, join_rankings, rank, vote, vote_weights

_VOTE_BYTES = 120  # temporaries of a (neighbour, label) pair
_PAIR_BYTES = 200  # temporaries of a (query, candidate) pair
_LOOK_UP_BYTES = 80  # temporaries of one of the query's features, looked up for a candidate
_NEVER = -(2**62)  # below every score
_DTYPES = {
    "indptr": np.int64,
    "features": np.int32,
    "weights": np.int16,
    "biases": np.int64,
    "modelled": np.uint8,
    "tables": np.int64,
}
_LARGEST_SHIFT = 15
_ARRAYS = Ranker._fields[:-1]
_NEIGHBOURS = "neighbour_rows", "neighbours"
_LARGEST, _LARGEST_ID = 2**31, 2**62
_SOURCES: tuple[type[Source], ...] = (Centroids, LabelNames)


@dataclass(frozen=True, eq=False)
class CandidateRanking(LabelRanking):
    """Label models that correct the vote, and how they were trained.

    Its arrays may come from a file: `checked_ranker` looks at every number that is followed
    before the first ranking.
    """

    ranker: Ranker
    selection: Selection
    """How neighbours become candidates; the last cut is the number of neighbours."""
    beta: float
    n_features: int
    recall: float
    """Share of the training rows' labels among the first 50 candidates, of those that could be."""
    descent_params: DescentParams
    """C, weight of the vote and of missed positives, as used; a saved model calls it ``rule``."""
    calibration: Calibration | None = None
    """Map from score to probability; None where there were too few rows, or it was not wanted."""
    trained: Trained | None = None
    """What the rows were at training; None until the model around it is complete."""
    known: KnownNeighbours | None = None
    """Neighbours of all rows when any label was last trained, for relearning."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """The estimator's parameters at training."""
    sources: tuple[Source, ...] = ()
    """What lists candidates beside the neighbours; `Selection.sources` has their shapes."""
    postings: int = 0
    cap_cost: float | None = None
    """Points of precision that a cap cost on held-out rows; None if that was not asked."""

    def __getstate__(self) -> dict[str, Any]:
        # Without what is cached: copies on a device can't be pickled, and are quickly made again.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def settings(self) -> Settings:
        """Those of the training."""
        return Settings(self.selection.cuts[-1], self.selection.alpha, self.beta)

    @property
    def names(self) -> LabelNames | None:
        """The names of the labels, if labels are found by name."""
        return next((each for each in self.sources if isinstance(each, LabelNames)), None)

    def with_source(self, source: Source) -> CandidateRanking:
        """The same ranking, with another source of this kind."""
        others = (source if each.name == source.name else each for each in self.sources)
        return self.with_sources(tuple(others))

    def with_sources(self, sources: tuple[Source, ...]) -> CandidateRanking:
        """The same ranking, with these sources."""
        shapes = tuple(each.shape for each in sources)
        return replace(self, sources=sources, selection=self.selection._replace(sources=shapes))

    @once_property
    def checked_ranker(self) -> Ranker:
        """The ranker, read-only; raises ValueError if its arrays can't be one."""
        for source in self.sources:
            source.check()
        check_ranker(self.ranker, self.n_features, self.selection.n_tables)
        return map_ranker(lambda array: frozen(np.ascontiguousarray(array)), self.ranker)

    @once_property
    def scorer(self) -> Scorer:
        """The ranker as the kernels take it."""
        return Scorer.prepare(self.checked_ranker, self.n_features)

    @once_property
    def buffers(self) -> BufferPool:
        """Buffers of the kernels that rank batches."""
        return BufferPool()

    def placed_ranker(self, placement: Any) -> Ranker:
        """The ranker where a model is; copied there once."""
        held = self.__dict__.get("_placed")
        if held is None or held[0] is not placement:
            ranker = map_ranker(placement.to_device, self.checked_ranker)
            held = self.__dict__["_placed"] = placement, ranker
        placed: Ranker = held[1]
        return placed

    def _placed_weights(self, ranker: Ranker) -> _WeightTable:
        """Table of the weights of a placed ranker; made once."""
        held = self.__dict__.get("_weights")
        if held is None or held[0] is not ranker:
            made = _weight_table(ranker, max(self.n_features, 1))
            held = self.__dict__["_weights"] = ranker, made
        placed: _WeightTable = held[1]
        return placed

    def rank_found(
        self, model: Model, queries: Queries, found: Neighbours, k: int, options: Options
    ) -> Ranking:
        """Rank the candidates of given neighbours."""
        index, labels, placement = model.segments[0], model.placed_labels, model.placement
        rows = queries.unscaled
        _ = self.checked_ranker  # before the sources answer
        evidence = [source.find(model, queries, options) for source in self.sources]
        best = index.rank_candidates(found, labels, rows, self, evidence, k, options)
        if best is not None:
            return best

        def rank_block(first: int, last: int) -> Ranking:
            block = Neighbours(found.similarities[first:last, :], found.ids[first:last, :])
            some = slice_rows(rows, first, last)
            listed = [Evidence(e.labels[first:last, :], e.bins[first:last, ...]) for e in evidence]
            return _rank_block(block, some, labels, ranker, weights, self.selection, listed, k)

        with placement.current():
            ranker = self.placed_ranker(placement)
            weights = self._placed_weights(ranker)
            most_votes = found.ids.shape[1] * longest_row(labels)
            step = self._queries_that_fit(most_votes, longest_row(rows), options.memory_budget)
            return join_rankings(placement.in_blocks(rows.n_rows, step, rank_block))

    def _queries_that_fit(self, most_votes: int, longest: int, memory_budget: int) -> int:
        of_query = self.selection.n_ranked * (_PAIR_BYTES + _LOOK_UP_BYTES * longest)
        of_query += most_votes * _VOTE_BYTES
        return max(1, memory_budget // (of_query + 1))

    def probabilities(self, best: Ranking, found: Neighbours) -> Array:
        """Probability of each ranked label; 0 in empty slots."""
        xp = array_namespace(best.scores)
        likely = score_probability(best.scores, self.calibration)
        return xp.where(best.labels >= 0, likely, 0 * likely)

    def matrices(
        self,
        model: Model,
        queries: Queries,
        wanted: Sequence[MatrixOf],
        threshold: float | str,
        options: Options,
    ) -> list[CSR]:
        """Scores or probabilities of all candidates, or those above the threshold."""
        labels, scores = self.rank(model, queries, self.selection.n_ranked, options)
        xp = array_namespace(labels)
        order = xp.argsort(labels, axis=1, stable=True)
        labels, scores = (xp.take_along_axis(part, order, axis=1) for part in (labels, scores))

        def matrix(of: MatrixOf) -> CSR:
            kept = labels >= 0
            if of == "predicted":
                kept = kept & self._is_predicted(scores, threshold)
            sizes = xp.sum(xp.astype(kept, xp.int64), axis=1)
            indptr = xp.cumulative_sum(sizes, dtype=xp.int64, include_initial=True)
            values = scores[kept]
            if of == "predicted":
                values = xp.ones(values.shape, dtype=xp.int8, device=device(values))
            elif of == "scores":
                values = _positive(values)
            else:
                values = score_probability(values, self.calibration)
            return indptr, labels[kept], values

        return [matrix(of) for of in wanted]

    def _is_predicted(self, scores: Array, threshold: float | str) -> Array:
        likely = score_probability(scores) if self.calibration is None else scores
        return predicted(likely, threshold, self.calibration)

    def explain(
        self, model: Model, queries: Queries, label: int, options: Options
    ) -> RankedExplanation:
        """Explain the score of one label for the only query: the vote, and its model."""
        ranker, alpha = self.checked_ranker, self.selection.alpha
        found = self.find(model, queries, options)
        with model.placement.current():
            found = Neighbours(*map(host_array, found))
            scaled, unscaled = host_rows(queries.scaled), host_rows(queries.unscaled)
        base = explain_votes(model, scaled, found, label, alpha)
        voters = {voter.row for voter in base.voters}
        voted = np.asarray([i >= 0 and model.id_of(int(i)) in voters for i in found.ids[0]])
        vote = self._vote_score(vote_weights(found, alpha)[0], voted, has_model(ranker, label))
        names = model.names.get("feature_names")
        parts = linear_parts(ranker, label, unscaled)
        sources = self._source_parts(model, queries, label, options)
        return explain_candidate(base, vote, sources, parts, names, self.calibration)

    def _source_parts(
        self, model: Model, queries: Queries, label: int, options: Options
    ) -> list[SourcePart]:
        """What each source adds to the score of a label for the only query."""
        parts, n_cuts = [], len(self.selection.cuts)
        tables = self.checked_ranker.tables.reshape(2, -1, N_BINS)
        own = tables[int(has_model(self.checked_ranker, label))]
        slices = own_tables(self.selection.sources, n_cuts)
        for source, mine in zip(self.sources, slices, strict=True):
            labels, bins = map(host_array, source.find(model, queries, options))
            at = np.flatnonzero(labels[0] == label)
            if at.size:
                entries = zip(own[mine], bins[0, at[0]].tolist(), strict=True)
                added = sum(int(table[entry]) for table, entry in entries)
                shared = source.shared_features(model, queries, label)
                parts.append(SourcePart(source.name, added, shared))
        return parts

    def _vote_score(self, weights: Any, voted: Any, is_modelled: bool) -> int:
        """Integer vote score of a label: one table entry for each cut."""
        total, n_tables = 0, self.selection.n_tables
        for cut, size in enumerate(self.selection.cuts):
            weight = int(weights[:size].sum())
            share = int(weights[:size][voted[:size]].sum()) / weight if weight > 0 else 0.0
            at = int(bins_of(np.asarray([share]))[0])
            total += int(self.checked_ranker.tables[(is_modelled * n_tables + cut) * N_BINS + at])
        return total

    def kernel_session(
        self, model: Model, index: Any, settings: Settings, **options: Any
    ) -> RankingSession:
        """Open a session of the kernels that searches and ranks in one call."""
        parts = model.placed_labels.prepared, self.scorer, self.selection
        return RankingSession(index, parts, settings, self.listers(model), **options)

    def listers(self, model: Model) -> list[Lister]:
        """Make a function of each source for sessions; they belong to one thread."""
        return [source.lister(model) for source in self.sources]

    def row_ranker(self, model: Model) -> RowRanker:
        """Rank the candidates of neighbours from several segments."""
        parts = model.placed_labels.prepared, self.scorer, self.selection
        ranker = CandidateRanker(*parts, self.listers(model))

        def rank_one(indices: Any, values: Any, found: Neighbours, k: int) -> Ranking:
            near = found.ids, found.similarities
            return Ranking(*ranker.rank_one(indices, values, near, k))

        return rank_one

    def probabilities_one(self, scores: Any, similarities: Any) -> Any:
        """Probability of each ranked label of one row."""
        return score_probability(scores, self.calibration)

    def check(self) -> None:
        """Raise ValueError if the ranker's arrays can't be one, or those of the calibration."""
        _ = self.checked_ranker
        for part in (self.calibration, self.trained, self.known):
            if part is not None:
                part.check()

    def stored(self) -> Extra:
        """Arrays and numbers that a saved model keeps."""
        arrays = {name: getattr(self.ranker, name) for name in _ARRAYS}
        meta = {
            "shift": self.ranker.shift,
            "cuts": list(self.selection.cuts),
            "n_candidates": self.selection.n_candidates,
            "alpha": self.selection.alpha,
            "beta": self.beta,
            "recall": self.recall,
            "postings": self.postings,
            "cap_cost": self.cap_cost,
            "rule": self.descent_params._asdict(),
        }
        for source in self.sources:
            own = source.stored()
            arrays |= {f"{source.name}_{name}": array for name, array in own.arrays.items()}
            meta[source.name] = dict(own.meta)
        if self.trained is not None:
            n_rows, next_id, arrays["label_rows"], arrays["label_next_ids"] = self.trained
            meta |= {"n_rows": n_rows, "next_id": next_id}
        if self.known is not None:
            arrays |= dict(zip(_NEIGHBOURS, self.known, strict=True))
        if self.calibration is not None:
            more = stored_calibration(self.calibration)
            return Extra(arrays | dict(more.arrays), meta | dict(more.meta))
        return Extra(arrays, meta)

    @classmethod
    def from_saved(cls, saved: SavedModel, n_features: int) -> CandidateRanking:
        """Read back what `stored` gave; StoreError if it can't be that.

        Arrays are checked before first use. Neighbours are not looked at: that would read them all.
        """
        arrays, meta = saved.extra
        try:
            ranker = Ranker(**{n: arrays[n] for n in _ARRAYS}, shift=_count(meta["shift"]))
            cuts = tuple(_count(cut) for cut in meta["cuts"])
            if not cuts or any(a >= b for a, b in zip((0, *cuts), cuts, strict=False)):
                raise ValueError(f"cuts {cuts} must ascend from 1")
            n_candidates = _count(meta["n_candidates"])
            if not 1 <= n_candidates <= max(1, saved.counts["n_labels"]):  # they decide on memory
                raise ValueError(f"n_candidates: {n_candidates}")
            sources = _stored_sources(arrays, meta, n_features)
            _check_shapes(shapes := tuple(source.shape for source in sources), saved.counts)
            selection = Selection(cuts, n_candidates, _number(meta["alpha"]), shapes)
            descent = DescentParams(
                **{name: _number(value) for name, value in meta["rule"].items()}
            )
            beta, recall = _number(meta["beta"]), _number(meta["recall"])
            postings = _count(meta["postings"], _LARGEST_ID)
            cost = meta["cap_cost"]
            if type(cost) not in (float, type(None)):
                raise ValueError(f"cap_cost: {cost!r}")
            counts = _count(meta["n_rows"]), _count(meta["next_id"], _LARGEST_ID)
            trained = Trained(*counts, arrays["label_rows"], arrays["label_next_ids"])
            trained.check()
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise StoreError(
                saved.path, f"manifest.json: missing or invalid field {error}"
            ) from error
        if ranker.modelled.size > saved.counts["n_labels"]:
            raise StoreError(saved.path, "the ranker has more labels than the model")
        known = None
        if set(_NEIGHBOURS) <= arrays.keys():
            known = KnownNeighbours(*(arrays[name] for name in _NEIGHBOURS))
        params = {name: value for name, value in saved.params.items() if name != "threshold"}
        more = calibration_from(saved), trained, known
        return cls(
            ranker, selection, beta, n_features, recall, descent, *more, params, sources,
            postings, cost,
        )  # fmt: skip


def ranking_of(model: Model) -> CandidateRanking:
    """The ranking of a model that is known to be a ranker's."""
    assert isinstance(model.ranking, CandidateRanking)
    return model.ranking


def _count(value: Any, limit: int = _LARGEST) -> int:
    if type(value) is not int or not 0 <= value < limit:
        raise ValueError(f"{value!r} is not a count")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < float("inf"):
        raise ValueError(f"{value!r} is not a number of at least 0")
    return float(value)


def _stored_sources(
    arrays: Mapping[str, Any], meta: Mapping[str, Any], n_features: int
) -> tuple[Source, ...]:
    """The sources that `CandidateRanking.stored` gave."""
    found = []
    for kind in _SOURCES:
        if kind.name in meta:
            prefix = f"{kind.name}_"
            own = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            found.append(kind.from_stored(own, meta[kind.name], n_features))
    return tuple(found)


def _check_shapes(shapes: tuple[SourceShape, ...], counts: Mapping[str, int]) -> None:
    """Raise ValueError if a source lists more labels than there are: they decide on memory."""
    for shape in shapes:
        if not 0 <= shape.n_listed <= shape.n_labels <= counts["n_labels"]:
            raise ValueError(f"a source's labels: {shape}")


def map_ranker(move: Callable[[Any], Any], ranker: Ranker) -> Ranker:
    """Apply a function to each array of a ranker."""
    return ranker._replace(**{name: move(getattr(ranker, name)) for name in _DTYPES})


def check_ranker(ranker: Ranker, n_features: int, n_tables: int) -> None:
    """Raise ValueError unless the arrays of a ranker fit together and lead nowhere outside.

    Examples
    --------
    >>> one = np.zeros(1, np.int64)
    >>> ranker = Ranker(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int16), one,
    ...                 np.zeros(1, np.uint8), np.zeros(2 * 3 * N_BINS, np.int64), 0)
    >>> check_ranker(ranker, 5, 3)
    >>> check_ranker(ranker, 5, 2)
    Traceback (most recent call last):
    ValueError: the ranker's arrays do not fit together
    """
    check_dtypes("the ranker's", ranker, _DTYPES)
    check_pointers("the ranker's indptr", ranker.indptr, ranker.features, "its features")
    n_labels = ranker.indptr.size - 1
    fits = (
        ranker.weights.shape == ranker.features.shape
        and ranker.biases.shape == ranker.modelled.shape == (n_labels,)
        and ranker.tables.shape == (2 * n_tables * N_BINS,)
        and 0 <= ranker.shift <= _LARGEST_SHIFT
    )
    if not fits:
        raise ValueError("the ranker's arrays do not fit together")
    check_range("the ranker's features", ranker.features, 0, n_features - 1)
    if not is_ascending(ranker.indptr, ranker.features):
        raise ValueError("the ranker's features must ascend in each label")


def _positive(scores: Array) -> Array:
    """Map scores to positive numbers in the same order; see `SWNNRanker.decision_function`."""
    xp = array_namespace(scores)
    above = scores > 0
    one = xp.ones_like(scores)
    return xp.where(above, one + scores, one / (one - xp.where(above, one * 0, scores)))


class _Pairs(NamedTuple):
    """Candidates, (n_queries, K): where their label is -1 there is none."""

    query: Array
    label: Array


def _rank_block(
    found: Neighbours,
    queries: QuantisedRows,
    labels: LabelRows,
    ranker: Ranker,
    weights: _WeightTable,
    selection: Selection,
    evidence: Sequence[Evidence],
    k: int,
) -> Ranking:
    """Rank labels with standard array-API functions only."""
    xp = array_namespace(found.ids)
    cuts = [min(cut, found.ids.shape[1]) for cut in selection.cuts]
    votes = [
        vote(Neighbours(found.similarities[:, :cut], found.ids[:, :cut]), labels, selection.alpha)
        for cut in cuts
    ]
    label = rank(votes[-1], selection.n_candidates).labels
    if evidence:
        label = _union([label, *(one.labels for one in evidence)])
    query = xp.arange(label.shape[0], dtype=xp.int64, device=device(label))[:, None]
    pairs = _Pairs(xp.broadcast_to(query, label.shape), label)
    known, safe = _modelled(pairs, ranker)
    n_labels = max([labels.n_labels, *(source.n_labels for source in selection.sources)])
    bins = [bins_of(_shares(pairs, cast, n_labels)) for cast in votes]
    bins += [part for one in evidence for part in _listed_bins(pairs, one, n_labels)]
    score = _table_scores(bins, ranker, known)
    if ranker.modelled.shape[0] > 0:
        score = score + _linear_scores(pairs, safe, known, queries, weights) * 2**ranker.shift
        bias = xp.reshape(xp.take(ranker.biases, xp.reshape(safe, (-1,))), safe.shape)
        score = score + xp.where(safe == label, bias, xp.zeros_like(bias))
    return _best(label, score, k)


def _modelled(pairs: _Pairs, ranker: Ranker) -> tuple[Array, Array]:
    """Which candidates have a label model, and a label id that can be looked up anyway."""
    xp = array_namespace(pairs.label)
    n_labels = ranker.modelled.shape[0]
    if n_labels == 0:
        return pairs.label != pairs.label, pairs.label
    safe = xp.where((pairs.label >= 0) & (pairs.label < n_labels), pairs.label, 0 * pairs.label)
    flags = xp.reshape(xp.take(ranker.modelled, xp.reshape(safe, (-1,))), safe.shape)
    return (flags != 0) & (safe == pairs.label), safe


def _union(parts: list[Array]) -> Array:
    """Labels of each query, (n_queries, any number), with -1 in place of repeats."""
    xp = array_namespace(parts[0])
    label = xp.sort(xp.concat([xp.astype(part, xp.int64) for part in parts], axis=1), axis=1)
    repeats = xp.concat([label[:, :1] != label[:, :1], label[:, 1:] == label[:, :-1]], axis=1)
    return xp.where(repeats, 0 * label - 1, label)


def _listed_bins(pairs: _Pairs, evidence: Evidence, n_labels: int) -> list[Array]:
    """Bins of each candidate in the tables of a source; 0 where it is not listed."""
    xp, dev = array_namespace(pairs.label), device(pairs.label)
    listed = xp.astype(evidence.labels, xp.int64)
    query = xp.arange(listed.shape[0], dtype=xp.int64, device=dev)[:, None]
    keys = xp.reshape(xp.where(listed >= 0, query * n_labels + listed, listed), (-1,))
    order = xp.argsort(keys, stable=True)
    keys, wanted = xp.take(keys, order), pairs.query * n_labels + pairs.label
    found = []
    for t in range(evidence.bins.shape[2]):
        values = xp.take(xp.reshape(evidence.bins[:, :, t], (-1,)), order)
        picked, there = _look_up(keys, wanted, values)
        found.append(xp.where(there & (pairs.label >= 0), picked, xp.zeros_like(picked)))
    return found


def _table_scores(bins: list[Array], ranker: Ranker, known: Array) -> Array:
    """Sum of one entry of each table."""
    xp = array_namespace(known)
    first = xp.astype(known, xp.int64) * (len(bins) * N_BINS)
    total = xp.zeros_like(first)
    for t, at in enumerate(bins):
        values = xp.take(ranker.tables, xp.reshape(at + first + t * N_BINS, (-1,)))
        total = total + xp.reshape(values, first.shape)
    return total


def _shares(pairs: _Pairs, votes: Votes, n_labels: int) -> Array:
    """Share of each candidate in the votes of a cut; 0 where it has none."""
    xp, dev = array_namespace(pairs.label), device(pairs.label)
    numbers = xp.arange(pairs.label.shape[0], dtype=xp.int64, device=dev)
    at_query = xp.repeat(numbers, votes.indptr[1:] - votes.indptr[:-1])
    keys = at_query * n_labels + votes.labels
    found, there = _look_up(keys, pairs.query * n_labels + pairs.label, votes.scores)
    totals = xp.astype(votes.totals, xp.float64)[:, None]
    share = xp.astype(found, xp.float64) / xp.where(totals > 0, totals, xp.ones_like(totals))
    return xp.where(there & (pairs.label >= 0) & (totals > 0), share, xp.zeros_like(share))


def _look_up(keys: Array, wanted: Array, values: Array) -> tuple[Array, Array]:
    """Values at ascending keys, and which of the wanted keys are there."""
    xp = array_namespace(keys)
    if keys.shape[0] == 0:
        return xp.zeros_like(wanted), wanted != wanted
    flat = xp.reshape(wanted, (-1,))
    at = xp.searchsorted(keys, flat)
    at = xp.where(at < keys.shape[0], at, xp.zeros_like(at))
    there = xp.take(keys, at) == flat
    picked = xp.astype(xp.take(values, at), xp.int64)
    picked = xp.where(there, picked, xp.zeros_like(picked))
    return xp.reshape(picked, wanted.shape), xp.reshape(there, wanted.shape)


class _WeightTable(NamedTuple):
    """All weights of the label models, to be looked up; an entry that nothing asks for ends them.

    A key is a label times the number of features, plus the feature.
    """

    keys: Array  # int64, ascending
    weights: Array  # int16


def _weight_table(ranker: Ranker, width: int) -> _WeightTable:
    xp, dev = array_namespace(ranker.indptr), device(ranker.indptr)
    n_labels = ranker.indptr.shape[0] - 1
    numbers = xp.arange(n_labels, dtype=xp.int64, device=dev)
    at_label = xp.repeat(numbers, ranker.indptr[1:] - ranker.indptr[:-1])
    keys = at_label * width + xp.astype(ranker.features, xp.int64)
    end = xp.full((1,), n_labels * width, dtype=xp.int64, device=dev)
    no_weight = xp.zeros((1,), dtype=ranker.weights.dtype, device=dev)
    return _WeightTable(xp.concat([keys, end]), xp.concat([ranker.weights, no_weight]))


def _linear_scores(
    pairs: _Pairs, labels: Array, known: Array, queries: QuantisedRows, table: _WeightTable
) -> Array:
    """Exact products of the labels' weights and the queries; 0 for labels without a model.

    A query has far fewer features than most of its candidates have weights, so its features are
    looked up among the weights. The sums are differences of running sums.
    """
    xp, dev = array_namespace(labels), device(labels)
    flat, query = xp.reshape(labels, (-1,)), xp.reshape(pairs.query, (-1,))
    starts = xp.take(queries.indptr, query)
    sizes = xp.take(queries.indptr, query + 1) - starts
    sizes = xp.where(xp.reshape(known, (-1,)), sizes, xp.zeros_like(sizes))
    before = xp.cumulative_sum(sizes, dtype=xp.int64, include_initial=True)
    entry = xp.repeat(starts - before[:-1], sizes)
    entry = entry + xp.arange(entry.shape[0], dtype=xp.int64, device=dev)
    wanted = xp.repeat(flat * max(queries.n_features, 1), sizes)
    wanted = wanted + xp.take(queries.indices, entry)
    at = xp.searchsorted(table.keys, wanted)
    weights = xp.take(table.weights, at)
    weights = xp.where(xp.take(table.keys, at) == wanted, weights, xp.zeros_like(weights))
    products = xp.astype(weights, xp.int64) * xp.take(queries.quantised, entry)
    running = xp.cumulative_sum(products, dtype=xp.int64, include_initial=True)
    sums = xp.take(running, before[1:]) - xp.take(running, before[:-1])
    return xp.reshape(sums, labels.shape)


def _best(label: Array, score: Array, k: int) -> Ranking:
    """Order candidates by larger score, then smaller label."""
    xp = array_namespace(label)
    there = label >= 0
    score = xp.where(there, score, xp.zeros_like(score) + _NEVER)
    order = xp.argsort(label, axis=1, stable=True)
    label, score = (xp.take_along_axis(array, order, axis=1) for array in (label, score))
    order = xp.argsort(-score, axis=1, stable=True)[:, : min(k, label.shape[1])]
    label, score = (xp.take_along_axis(array, order, axis=1) for array in (label, score))
    score = xp.where(label >= 0, score, xp.zeros_like(score))
    label, score = pad_to(k, label, score)
    return Ranking(label, xp.astype(score, xp.float64) * 2.0**-SCORE_BITS)
