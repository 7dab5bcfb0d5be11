"""The whole recipe of training: from rows and labels to feature weights and a ranking.

`prepare` learns feature weights on a part of the rows and indexes all rows, scaled by them. `train`
then finds the neighbours of every training row, takes the labels that these vote for as candidates
(leave-one-out: a row and its copies do not vote for it), fits the vote score to the candidates, and
trains the label models. Searches run on any backend; their results come to the host.

`rarity` is what ``rare_labels`` adds to the score of a label that few rows have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.candidates import Selection, mark_right
from swnn_kernels.learn.descent import Pairs, Problem, look_up
from swnn_kernels.learn.evidence import Evidence, SourceShape
from swnn_kernels.learn.rank import SCORE_BITS
from swnn_kernels.vote import Labels
from swnn_xp.backends import Index, Options, Placement
from swnn_xp.backends.index import Search, host_search
from swnn_xp.checks import check_exponent
from swnn_xp.learn.candidates import (
    Candidates,
    Learners,
    Voters,
    VoteScore,
    candidates_of,
    copy_numbers,
    fit_vote_score,
    leave_one_out,
    without_excluded,
)
from swnn_xp.learn.centroids import (
    IF_THEY_HELP,
    MOST_SUMMED,
    n_summed,
    training_centroids,
)
from swnn_xp.learn.evidence import Terms, TrainingRows, TrainingSource, tables_of
from swnn_xp.learn.label_models import (
    LabelModels,
    group_pairs,
    held_out_scores,
    pairs_of_rows,
    quantise_models,
    remote_trainer,
    train_labels,
)
from swnn_xp.learn.label_names import LabelFeatures
from swnn_xp.learn.names import LabelNames, training_names
from swnn_xp.learn.neighbours import KnownNeighbours, record_neighbours
from swnn_xp.learn.ranking import CandidateRanking
from swnn_xp.learn.settings import MODEL_SCALE_POWER, DescentParams, TrainingSettings, label_costs
from swnn_xp.learn.weights import FeatureUse, prior_rows
from swnn_xp.metrics import propensities_of_counts
from swnn_xp.model.calibration import (
    Calibration,
    HeldOutScores,
    chosen_rows,
    fit_calibration,
)
from swnn_xp.model.changes import new_model
from swnn_xp.model.model import Model, Queries
from swnn_xp.progress import note
from swnn_xp.results import Neighbours
from swnn_xp.rows.canonical import quantise_rows
from swnn_xp.rows.excluded import without_labels
from swnn_xp.rows.input_kind import host_array
from swnn_xp.rows.records import LabelRows, QuantisedRows, ValueRows, slice_rows, take_rows

LARGEST = 1000.0
"""Largest weight of rarity: far beyond use, and no score overflows."""

# Fewer than scores have: the last bits of NumPy's logarithm differ between processors and versions.
_BITS = 20


def check_rare_labels(weight: Any) -> None:
    """Raise ValueError unless it is a weight of rarity."""
    check_exponent(weight, "rare_labels")
    if weight > LARGEST:
        raise ValueError(f"rare_labels must be at most {LARGEST:g}, got {weight}")


def rarity(counts: NDArray[np.int64], n_rows: int, weight: float) -> NDArray[np.int64]:
    """Integers to add to scores: minus the logarithm of each label's propensity, times a weight.

    Parameters
    ----------
    counts : array of int64, (n_labels,)
        Rows of each label.
    n_rows : int
        Rows of all labels.
    weight : float
        0 to `LARGEST`; 0 adds nothing.

    Examples
    --------
    >>> (rarity(np.asarray([9, 1]), 9, 0.25) / 2**SCORE_BITS).round(3).tolist()
    [0.109, 0.197]
    """
    likely = propensities_of_counts(counts, max(n_rows, 3))  # of fewer rows there are none
    return np.rint(np.log(likely) * (-weight * 2.0**_BITS)).astype(np.int64) << (SCORE_BITS - _BITS)


Progress = Callable[[str, int, int], None]
"""Called with the stage, how much of it is done, and how much there is. If it raises, training
ends and leaves nothing behind."""
Indexer = Callable[[QuantisedRows], Search]
"""Indexes rows for search, on whatever backend."""
_LARGEST_BLOCK = 16_384
_FIRST_CANDIDATES = 50  # whose recall is taken, however many there are
_WEIGHT_PART = 4  # feature weights are learned from every fourth row ...
_WEIGHT_ENTRIES = 1_500_000  # ... but from no fewer rows than have this many non-zeros
_LEAST_TRIAL_ROWS = 1_000
_TRIAL_ROWS = 3_000, 10_000  # that feature weights are tried on: a tenth of all, within these
_TRIAL_RANKS = 1, 3, 5
_CAP_COST = 0.2  # points of precision that a cap may cost where it is left to the data
_LONG_ROW = 40  # features: in shorter rows, scaled ones would make their lengths too different
_CANDIDATE_BYTES = 13, 10  # temporaries of a candidate, and of each of its cuts
_NEIGHBOUR_BYTES = 16
_UNLESS_THEY_HARM = Terms(0.0, -1.5)  # feature weights in the search
_SOURCE_ROWS = 5_000, 20_000  # on which sources are tried: a quarter of all, within these ...
_SOURCE_ENTRIES = 1_000_000  # ... and only as many as have this many non-zeros
_SOURCES_LEFT_OUT = 0.3  # share of them that are ranked by models without them
_LEFT_OUT = 0.1  # share of the rows whose scores probabilities are fitted on


class Representatives(NamedTuple):
    """The rows of an index that holds a part of the training rows: they stand for the others."""

    labels: LabelRows
    """For which they vote: the labels of all rows that they stand for."""
    nearest: NDArray[np.int64]
    """The one that stands for each training row, -1 for none: it does not vote for that row."""
    copies: NDArray[np.int64]
    """Numbers that copies among them share: none of them votes where one does not."""
    agreement: float
    """Of vote and labels with all rows in the index: what is kept must not change
    the descent's parameters."""


class Training(NamedTuple):
    """The training rows in two forms, for the label models and for the search, and their labels."""

    unscaled: QuantisedRows
    """What the label models learn from."""
    scaled: QuantisedRows
    labels: LabelRows
    representatives: Representatives | None = None
    """What is searched, unless it is the rows themselves."""
    weights: NDArray[np.float64] | None = None
    """Feature weights, if the search uses any."""
    scales_models: bool = False
    """Whether label models use them, too."""
    sources: tuple[TrainingSource, ...] = ()
    """What lists candidates beside the neighbours."""
    excluded: LabelRows | None = None
    """Labels that rows must not get, so that they are neither candidates nor negatives."""

    def shapes(self) -> tuple[SourceShape, ...]:
        """What the sources list."""
        return tuple(each.source.shape for each in self.sources)

    def tables(self, score: VoteScore, vote_weight: float) -> NDArray[np.int64]:
        """Tables of the vote score where the vote has this weight beside a label model."""
        weights, at = np.full(score.values.shape[0], vote_weight), score.values.shape[0]
        for each in reversed(self.sources):
            at -= len(each.source.shape.tables)
            if each.source.counts_in_full:
                weights[at:][: len(each.source.shape.tables)] = 1.0
        return score.tables(weights)

    def evidence(self, rows: NDArray[np.int64]) -> list[Evidence]:
        """What the sources list for some of the rows, as if they were not among the rows."""
        return [each.leave_one_out(rows) for each in self.sources]

    def part(self, rows: NDArray[np.int64]) -> Training:
        """Some of the rows; what is searched and what sources list stays that of all."""
        return self._replace(
            unscaled=take_rows(self.unscaled, rows),
            scaled=take_rows(self.scaled, rows),
            labels=take_rows(self.labels, rows),
            excluded=None if self.excluded is None else take_rows(self.excluded, rows),
        )

    def excluded_of(self, first: int, last: int) -> LabelRows | None:
        """Labels that these rows must not get."""
        return None if self.excluded is None else slice_rows(self.excluded, first, last)

    def voters(self) -> Voters:
        """The rows that vote, and for each row those whose votes do not count: its copies."""
        own = Labels.prepare(self.labels.indptr, self.labels.indices)
        if self.representatives is None:
            return Voters(own, copy_numbers(self.unscaled, self.labels))
        voting, nearest, copies, _ = self.representatives
        labels = Labels.prepare(voting.indptr, voting.indices)
        ignored = np.append(copies, -1)[nearest]
        return Voters(labels, copies, Learners(own, ignored))


class Learned(NamedTuple):
    """Label models of some rows of the first round."""

    rows: NDArray[np.int64]
    """Positions of the rows, ascending."""
    pairs: Pairs
    models: LabelModels
    use: FeatureUse


class FirstRound(NamedTuple):
    """Label models of a part of the rows, and of two halves of that part."""

    training: Training
    stats: CandidateStats
    whole: Learned
    halves: list[Learned]
    prior_rows: float
    """Rows that feature weights are shrunk by."""
    settings: TrainingSettings

    def weights(self, learned: Learned) -> NDArray[np.float64]:
        """Feature weights by some of the label models."""
        return learned.use.shrunk(self.prior_rows)

    def ranking(
        self, learned: Learned, on_progress: Progress, *, scaled: bool = False
    ) -> CandidateRanking:
        """Rank by some of the label models; train them again if features are to be scaled."""
        models, descent = learned.models, self.stats.descent_params(self.settings)
        if scaled:
            scales = self.weights(learned) ** MODEL_SCALE_POWER
            models = _train_pairs(
                self.training, learned.pairs, descent, self.settings, on_progress, scales
            )
        return _ranking(self.training, self.stats, models, self.settings)

    def unseen(self, n_rows: int) -> list[tuple[Learned, NDArray[np.int64]]]:
        """Rows for label models that were not trained on them; none if there are too few.

        If hardly any rows were left over, each half of them is there for the models of the other.
        """
        rng, found = np.random.default_rng([self.settings.random_state, 1]), []
        wanted = int(np.clip(n_rows // 10, *_TRIAL_ROWS))
        for learners in ([self.whole], self.halves):
            each = wanted // len(learners)
            others = np.arange(n_rows) if len(learners) == 1 else self.whole.rows
            found = [(one, np.setdiff1d(others, one.rows, assume_unique=True)) for one in learners]
            if all(rows.size >= each for _, rows in found):
                break
        if sum(rows.size for _, rows in found) < _LEAST_TRIAL_ROWS:
            return []
        return [
            (one, np.sort(rng.choice(rows, min(each, rows.size), replace=False)))
            for one, rows in found
        ]


def first_round(
    rows: ValueRows,
    labels: LabelRows,
    settings: TrainingSettings,
    index: Indexer,
    on_progress: Progress,
    excluded: LabelRows | None = None,
) -> FirstRound:
    """Learn from a part of the rows what label models make of the features.

    The number of rows by which feature weights are shrunk comes from two halves of that part.
    """
    on_progress = _of_weights(on_progress)
    part = part_of_rows(rows, settings)
    some = rows if part is None else take_rows(rows, part)
    unscaled = quantise_rows(some)
    training = Training(unscaled, unscaled, labels, excluded=excluded)
    if part is not None:
        left_out = None if excluded is None else take_rows(excluded, part)
        training = training._replace(labels=take_rows(labels, part), excluded=left_out)
    settings = settings.for_weights()
    blocks = find_blocks(training, index(unscaled), settings, on_progress)
    stats = measure_candidates(training, blocks, settings, on_progress)
    descent = stats.descent_params(settings)
    pairs = _grouped(training, stats, descent)
    blocks.clear()  # the pairs hold all that is needed
    own = np.arange(unscaled.n_rows) if part is None else part

    def learned(chosen: NDArray[np.bool_], pairs: Pairs) -> Learned:
        models = _train_pairs(training, pairs, descent, settings, on_progress)
        features = unscaled.indices[np.repeat(chosen, np.diff(unscaled.indptr))]
        use = FeatureUse(models.squares, np.bincount(features, minlength=unscaled.n_features))
        return Learned(own[chosen], pairs, models, use)

    whole = learned(np.ones(unscaled.n_rows, bool), pairs)
    in_first = np.random.default_rng(settings.random_state).random(unscaled.n_rows) < 0.5
    halves = [learned(half, pairs_of_rows(pairs, half)) for half in (in_first, ~in_first)]
    prior = prior_rows([half.use for half in halves])
    return FirstRound(training, stats, whole, halves, prior, settings)


def _of_weights(on_progress: Progress) -> Progress:
    return lambda stage, done, total: on_progress(f"feature weights: {stage}", done, total)


def part_of_rows(rows: ValueRows, settings: TrainingSettings) -> NDArray[np.int64] | None:
    """Rows to learn feature weights from, ascending; None for all of them.

    Long rows say more about their features, so fewer of them do.
    """
    n_rows = rows.indptr.size - 1
    enough = n_rows * _WEIGHT_ENTRIES // max(1, rows.indices.size)
    wanted = min(max(n_rows // _WEIGHT_PART, enough), settings.weight_rows)
    if wanted >= n_rows:
        return None
    chosen = np.random.default_rng(settings.random_state).choice(n_rows, wanted, replace=False)
    return np.sort(chosen)


class Use(NamedTuple):
    """What feature weights are used for."""

    search: bool
    label_models: bool
    cap_cost: float | None = None
    """Points of precision that capping the search costs; None if that was not asked."""


def use_of_weights(
    first: FirstRound,
    rows: ValueRows,
    labels: LabelRows,
    backend: SearchBackend,
    on_progress: Progress,
) -> Use:
    """Try feature weights in the search, then in the label models of long rows, then a cap.

    Rows that the first round's label models were not trained on are ranked by them and by the votes
    of its other rows. The search uses weights, which help on most data, unless that clearly does
    harm; label models use them if they gain. Where there are too few rows to tell, both do.
    """
    on_progress = _of_weights(on_progress)
    is_long = rows.indices.size >= _LONG_ROW * labels.n_rows
    tried = first.unseen(labels.n_rows)
    gains: list[list[NDArray[np.float64]]] = [[], [], []]
    for learned, some in tried:
        on_progress("trial", len(gains[0]), len(tried))
        voters = np.setdiff1d(first.whole.rows, some, assume_unique=True)
        asked, others = (Part(take_rows(rows, of), take_rows(labels, of)) for of in (some, voters))
        settings = _with_share(first.settings, voters.size / labels.n_rows)
        unscaled, weighted = (
            Trial.run(asked, others, used, settings, backend)
            for used in (None, first.weights(learned))
        )
        ranking = first.ranking(learned, on_progress)
        usual = weighted.precision(ranking)
        gains[0].append(usual - unscaled.precision(ranking))
        if is_long:
            scaled = first.ranking(learned, on_progress, scaled=True)
            gains[1].append(weighted.precision(scaled) - usual)
        if first.settings.search == "auto":
            gains[2].append(weighted.exact(settings.beta).precision(ranking) - usual)
    search = not tried or _UNLESS_THEY_HARM.kept(np.concatenate(gains[0]))
    label_models = not tried or not is_long or float(np.concatenate(gains[1]).mean()) > 0
    cost = 100 * float(np.concatenate(gains[2]).mean()) if gains[2] else None
    return Use(search, search and is_long and label_models, cost)


def _with_share(settings: TrainingSettings, share: float) -> TrainingSettings:
    """Settings for a part of the rows whose cap takes about the features that it takes of all."""
    if not settings.postings:
        return settings
    return settings._replace(search=max(1, round(settings.postings * share)))


def cap_or_exact(settings: TrainingSettings, cost: float | None) -> TrainingSettings:
    """Settle how neighbours are searched, given the points of precision that a cap costs, if known.

    Examples
    --------
    >>> cap_or_exact(TrainingSettings(search="auto"), 0.5).search
    'exact'
    """
    if settings.search != "auto":
        return settings
    capped = cost is not None and cost < _CAP_COST
    if cost is not None:
        chosen = f"capped at {settings.postings} postings" if capped else "exact"
        note(f"search: {chosen}; a cap costs {cost:.2f} points of precision on held-out rows")
    return settings._replace(search=settings.postings if capped else "exact")


class Part(NamedTuple):
    """Some of the rows."""

    rows: ValueRows
    labels: LabelRows


class Trial(NamedTuple):
    """Neighbours of some rows among others, to be ranked by."""

    model: Model
    queries: Queries
    found: Neighbours
    labels: LabelRows
    options: Options

    @classmethod
    def run(
        cls,
        asked: Part,
        voters: Part,
        weights: NDArray[np.float64] | None,
        settings: TrainingSettings,
        backend: SearchBackend,
    ) -> Trial:
        """Search with feature weights, or without."""
        index_class, placement, options = backend
        scaled = placement.rows(quantise_rows(voters.rows, weights))
        model = new_model(index_class, placement, scaled, voters.labels)
        queries = Queries(asked.rows, placement, weights)
        S = model.n_voters(settings.cuts[-1])
        found = model.search(queries.scaled, S, settings.beta, options, settings.postings)
        return cls(model, queries, found, asked.labels, options)

    def exact(self, beta: float) -> Trial:
        """The same rows, searched without a cap."""
        model, queries, found, _, options = self
        S = found.ids.shape[1]
        return self._replace(found=model.search(queries.scaled, S, beta, options))

    def precision(self, ranking: CandidateRanking) -> NDArray[np.float64]:
        """Mean of P@1, P@3 and P@5 of each row."""
        model, queries, found, labels, options = self
        best = ranking.rank_found(model, queries, found, max(_TRIAL_RANKS), options)
        ranked = host_array(best.labels).astype(np.int32)
        right = np.empty(ranked.shape, np.uint8)
        mark_right(ranked, labels.indptr, labels.indices, 0, right)
        return np.mean([right[:, :k].mean(axis=1) for k in _TRIAL_RANKS], axis=0)


def train(
    training: Training, search: Search, settings: TrainingSettings, on_progress: Progress
) -> CandidateRanking:
    """Learn vote score and label models.

    Parameters
    ----------
    training : Training
    search : callable
        Searches an index over the scaled rows.
    settings : TrainingSettings
        With their sizes chosen: see `TrainingSettings.with_sizes`.
    on_progress : callable
        Shows progress.
    """
    trial = source_trial(training, search, settings, on_progress)
    training = with_useful_sources(training, trial)
    found, known = find_neighbours(training, search, settings, on_progress), list[KnownNeighbours]()
    # To relearn, rows that were not kept would be needed; within a cap, rows are searched again.
    if training.representatives is None and not settings.postings:
        found = record_neighbours(found, training.scaled.n_rows, settings.cuts[-1] + 1, known)
    blocks = to_candidates(training, found, settings)
    stats = measure_candidates(training, blocks, settings, on_progress)
    ranking = train_ranking(training, stats, settings, on_progress)
    return replace(ranking, known=known[0] if known else None)


def source_trial(
    training: Training, search: Search, settings: TrainingSettings, on_progress: Progress
) -> SourceTrial | None:
    """A trial of the sources that have terms to keep; None if none has, or for too few rows."""
    has_terms = any(each.terms is not None for each in training.sources)
    if not has_terms or training.labels.n_rows < _LEAST_TRIAL_ROWS:
        return None
    return SourceTrial.of(training, search, settings, on_progress)


def with_useful_sources(training: Training, trial: SourceTrial | None) -> Training:
    """The training without the sources of evidence that do not keep their terms.

    Each is tried with those before it that are used and with all that follow, and without it.
    """
    usual = None if trial is None else trial.precision(training.sources)
    for each in training.sources:
        if each.terms is None:
            continue
        rest = tuple(other for other in training.sources if other is not each)
        without = gains = None
        if trial is not None and usual is not None:
            without = trial.precision(rest)
            gains = usual - without
        if not each.is_used(gains):
            training, usual = training._replace(sources=rest), without
    return training


class SourceTrial(NamedTuple):
    """Some of the rows with their neighbours: models of most of them rank the others."""

    training: Training
    """Of all rows."""
    rows: NDArray[np.int64]
    part: Training
    """Of these rows alone."""
    found: list[Neighbours]
    """Of successive blocks of these rows, among all."""
    voters: Voters
    settings: TrainingSettings
    on_progress: Progress

    @classmethod
    def of(
        cls, training: Training, search: Search, settings: TrainingSettings, on_progress: Progress
    ) -> SourceTrial:
        """Search for some of the rows."""

        def shown(stage: str, done: int, total: int) -> None:
            on_progress(f"trial: {stage}", done, total)

        n_rows = training.labels.n_rows
        few = n_rows * _SOURCE_ENTRIES // max(1, training.unscaled.indices.size)
        wanted = min(int(np.clip(n_rows // 4, *_SOURCE_ROWS)), max(few, _LEAST_TRIAL_ROWS), n_rows)
        rng = np.random.default_rng([settings.random_state, 2])
        rows = np.sort(rng.choice(n_rows, wanted, replace=False))
        part = training.part(rows)
        found = list(find_neighbours(part, search, settings, shown))
        return cls(training, rows, part, found, training.voters(), settings, shown)

    def precision(self, sources: tuple[TrainingSource, ...]) -> NDArray[np.float64]:
        """Mean of P@1, P@3 and P@5 of each row that label models are not trained on."""
        tried, training, settings = (
            self.part._replace(sources=sources),
            self.training,
            self.settings,
        )
        blocks, first = list[Candidates](), 0
        selection = selection_of(settings, tried)
        for found in self.found:
            last = first + found.ids.shape[0]
            rows, truth = self.rows[first:last], slice_rows(tried.labels, first, last)
            evidence = tried.evidence(rows)
            block = candidates_of(found, self.voters, rows, truth, selection, evidence)
            blocks.append(without_excluded(block, tried.excluded_of(first, last)))
            first = last
        stats = measure_candidates(tried, blocks, settings, self.on_progress)
        if training.representatives is None:  # labels that are rare here are not rare there
            counts = np.bincount(training.labels.indices, minlength=training.labels.n_labels)
            stats = stats._replace(agreement=vote_agreement(blocks, tried.labels, counts))
        descent = stats.descent_params(settings)
        pairs = _grouped(tried, stats, descent)
        out = chosen_rows(self.rows.size, _SOURCES_LEFT_OUT, settings.random_state)
        quick = settings._replace(tolerance=0.5, passes=5)
        scales = scales_of(tried.weights, descent)
        models = _train_pairs(tried, pairs, descent, quick, self.on_progress, scales, out)
        votes = _votes_alone(tried, stats, out)
        held = held_out_scores(tried.labels, pairs, models.scores, votes, out)
        return precision_of_rows(held, out)


def precision_of_rows(found: HeldOutScores, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean of P@1, P@3 and P@5 of each row, by the scores of its candidates.

    Examples
    --------
    >>> two, ones = np.asarray([7, 7]), np.ones(2)
    >>> found = HeldOutScores(two, np.arange(2), ones, np.asarray([True, False]), 1)
    >>> precision_of_rows(found, np.asarray([5, 7])).round(3).tolist()
    [0.0, 0.511]
    """
    order = np.lexsort((found.labels, -found.scores, found.rows))
    at_row, right = found.rows[order], found.right[order]
    rank = np.arange(order.size) - np.searchsorted(at_row, at_row)
    at = np.searchsorted(rows, at_row)
    hits = [np.bincount(at[right & (rank < k)], minlength=rows.size) / k for k in _TRIAL_RANKS]
    return np.mean(hits, axis=0)


class CandidateStats(NamedTuple):
    """Candidates of all rows, and what is known of them before any label has a model."""

    blocks: list[Candidates]
    score: VoteScore
    recall: float
    agreement: float
    scales_models: bool
    by_name: bool
    """Whether names list candidates, too."""

    def descent_params(self, settings: TrainingSettings) -> DescentParams:
        """Parameters of the descent, chosen by these statistics where they were left open."""
        return settings.descent_params(self.agreement, self.scales_models, by_name=self.by_name)


def measure_candidates(
    training: Training, blocks: list[Candidates], settings: TrainingSettings, on_progress: Progress
) -> CandidateStats:
    """Fit the vote score to candidates, and count how many labels are among them."""
    on_progress("vote score", 0, 1)
    score = fit_vote_score(*_sample(training, blocks, settings), tables_of(training.shapes()))
    labels, part = training.labels, training.representatives
    recall = candidate_recall(blocks, labels)
    agreement = vote_agreement(blocks, labels) if part is None else part.agreement
    sources = [each.source for each in training.sources]
    by_name = any(isinstance(one, LabelNames) and one.features.size for one in sources)
    return CandidateStats(blocks, score, recall, agreement, training.scales_models, by_name)


def train_ranking(
    training: Training,
    stats: CandidateStats,
    settings: TrainingSettings,
    on_progress: Progress,
    *,
    keep: bool = False,
) -> CandidateRanking:
    """Train label models on the candidates, which are dropped on the way unless ``keep`` is set."""
    models, calibration = _label_models(training, stats, settings, on_progress, keep)
    ranking = _ranking(training, stats, models, settings)
    ranker = ranking.ranker
    added = _rarity(training.labels, settings)
    ranker = ranker._replace(biases=ranker.biases + added)
    return replace(ranking, ranker=ranker, calibration=calibration)


def _ranking(
    training: Training, stats: CandidateStats, models: LabelModels, settings: TrainingSettings
) -> CandidateRanking:
    """Rank by the vote and label models."""
    descent = stats.descent_params(settings)
    tables = np.stack([training.tables(stats.score, w) for w in (1.0, descent.vote_weight)])
    return CandidateRanking(
        quantise_models(models, tables),
        selection_of(settings, training),
        settings.beta,
        training.unscaled.n_features,
        stats.recall,
        descent,
        sources=tuple(each.source for each in training.sources),
        postings=settings.postings,
    )


def _label_models(
    training: Training,
    stats: CandidateStats,
    settings: TrainingSettings,
    on_progress: Progress,
    keep: bool = False,
) -> tuple[LabelModels, Calibration | None]:
    descent, labels = stats.descent_params(settings), training.labels
    pairs = _grouped(training, stats, descent)
    out = votes = None
    if settings.calibrate:
        out = chosen_rows(labels.n_rows, _LEFT_OUT, settings.random_state)
        votes = _votes_alone(training, stats, out)
    if not keep:
        stats.blocks.clear()  # the pairs hold all that is needed
    scales = scales_of(training.weights, descent)
    models = _train_pairs(training, pairs, descent, settings, on_progress, scales, out)
    if out is None or votes is None:
        return models, None
    held_out = held_out_scores(labels, pairs, models.scores, votes, out)
    added = _rarity(labels, settings)[held_out.labels] * 2.0**-SCORE_BITS
    return models, fit_calibration(held_out._replace(scores=held_out.scores + added))


def _grouped(training: Training, stats: CandidateStats, descent: DescentParams) -> Pairs:
    """Pairs of rows and candidates, by label, with the vote as their offset."""
    table = training.tables(stats.score, descent.vote_weight)
    missed = float(table[:, 0].sum()) * 2.0**-SCORE_BITS if descent.missed > 0 else None
    labels = training.labels
    if training.excluded is not None:
        labels = without_labels(labels, training.excluded)
    return group_pairs(stats.blocks, labels, lambda bins: offsets_of(bins, table), missed)


def _votes_alone(
    training: Training, stats: CandidateStats, rows: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Vote score of the candidates of some rows, as labels without a model get it, by label."""
    table, blocks, first = training.tables(stats.score, 1.0), [], 0
    for block in stats.blocks:
        last = first + block.labels.shape[0]
        some = rows[(rows >= first) & (rows < last)] - first
        blocks.append(Candidates(*(part[some] for part in block)))
        first = last
    truth = take_rows(training.labels, rows)
    return group_pairs(blocks, truth, lambda bins: offsets_of(bins, table), None).offsets


def _train_pairs(
    training: Training,
    pairs: Pairs,
    descent: DescentParams,
    settings: TrainingSettings,
    on_progress: Progress,
    scales: NDArray[np.float64] | None = None,
    left_out: NDArray[np.int64] | None = None,
) -> LabelModels:
    labels = training.labels
    n_rows = np.bincount(labels.indices, minlength=labels.n_labels)
    return train_labels(
        training.unscaled, pairs, label_problem(n_rows, descent, settings), settings.n_jobs,
        lambda done, total: on_progress("label models", done, total), scales, left_out,
    )  # fmt: skip


def scales_of(
    weights: NDArray[np.float64] | None, descent: DescentParams
) -> NDArray[np.float64] | None:
    """Scales of the features for label models; None leaves them as they are."""
    return None if weights is None or descent.scale_power == 0 else weights**descent.scale_power


def _rarity(labels: LabelRows, settings: TrainingSettings) -> NDArray[np.int64]:
    counts = np.bincount(labels.indices, minlength=labels.n_labels)
    return rarity(counts, labels.n_rows, settings.rare_labels)


def label_problem(
    n_rows: NDArray[np.int64], descent: DescentParams, settings: TrainingSettings
) -> Problem:
    """The problem that label models minimise, given the number of rows of each label."""
    return Problem(
        costs=label_costs(descent.C, n_rows, settings.C_power),
        missed=max(descent.missed, 1e-9),
        missed_bias=descent.missed_bias,
        tolerance=settings.tolerance,
        passes=settings.passes,
        seed=settings.random_state,
        dropped=settings.dropped,
    )


def find_blocks(
    training: Training, search: Search, settings: TrainingSettings, on_progress: Progress
) -> list[Candidates]:
    """Leave-one-out candidates of all rows, a block at a time."""
    return to_candidates(
        training, find_neighbours(training, search, settings, on_progress), settings
    )


def find_neighbours(
    training: Training, search: Search, settings: TrainingSettings, on_progress: Progress
) -> Iterator[Neighbours]:
    """Neighbours of all rows, a block at a time: one more than vote, for each finds itself."""
    scaled, selection = training.scaled, selection_of(settings, training)
    size = block_size(selection, settings)
    for first in range(0, scaled.n_rows, size):
        last = min(first + size, scaled.n_rows)
        some, wanted = slice_rows(scaled, first, last), selection.cuts[-1] + 1
        yield search(some, wanted, settings.beta, settings.postings)
        on_progress("neighbours", last, scaled.n_rows)


def to_candidates(
    training: Training, found: Iterable[Neighbours], settings: TrainingSettings
) -> list[Candidates]:
    """Leave-one-out candidates from the neighbours of successive blocks of rows.

    Of neighbours that were found for a larger S only the first ones are taken.
    """
    blocks, first, voters = [], 0, training.voters()
    selection = selection_of(settings, training)
    most = selection.cuts[-1] + 1
    for sims, ids in found:
        nearest = Neighbours(sims[:, :most], ids[:, :most])
        evidence = training.evidence(np.arange(first, first + ids.shape[0]))
        block = leave_one_out(nearest, voters, first, selection, evidence)
        last = first + ids.shape[0]
        blocks.append(without_excluded(block, training.excluded_of(first, last)))
        first = last
    return blocks


def candidate_recall(blocks: list[Candidates], labels: LabelRows) -> float:
    """Share of the rows' labels among the first 50 candidates, of those that can be candidates."""
    right = sum(int(block.right[:, :_FIRST_CANDIDATES].sum()) for block in blocks)
    return right / max(1, _possible(labels))


def vote_agreement(
    blocks: list[Candidates], labels: LabelRows, n_rows: NDArray[np.int64] | None = None
) -> float:
    """How far vote and labels agree: the share of each row's n labels among its first n candidates.

    Labels that leave-one-out can't find do not count. ``n_rows`` holds the number of rows of each
    label, where there are more rows than these.
    """
    sizes, right, first = np.diff(labels.indptr), 0, 0
    for block in blocks:
        size, n_candidates = block.right.shape
        wanted = np.arange(n_candidates) < sizes[first : first + size, None]
        right += int(block.right[wanted].sum())
        first += size
    return right / max(1, _possible(labels, n_rows))


def _possible(labels: LabelRows, n_rows: NDArray[np.int64] | None = None) -> int:
    """Labels of rows that leave-one-out can find: those of a single row never are."""
    if n_rows is None:
        n_rows = np.bincount(labels.indices, minlength=labels.n_labels)
    return int((n_rows[labels.indices] > 1).sum())


def selection_of(settings: TrainingSettings, training: Training) -> Selection:
    """How neighbours become candidates; no more of them than there are labels."""
    wanted = settings.n_candidates
    if wanted == "auto":
        raise ValueError("the number of candidates is not chosen yet")
    kept = max(1, min(wanted, training.labels.n_labels))
    return Selection(settings.cuts, kept, settings.alpha, training.shapes())


def offsets_of(bins: NDArray[np.uint16], table: NDArray[np.int64]) -> NDArray[np.float32]:
    """Vote score of candidates, by a table of integers for each cut."""
    scores = np.empty(bins.shape[0] * bins.shape[1], np.int64)
    look_up(bins.reshape(-1, bins.shape[2]), table, scores)
    return (scores * 2.0**-SCORE_BITS).astype(np.float32).reshape(bins.shape[:2])


def _sample(
    training: Training, blocks: list[Candidates], settings: TrainingSettings
) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Bins and rightness of about ``settings.vote_pairs`` candidates at most."""
    n_pairs = sum(block.labels.size for block in blocks)
    share = min(1.0, settings.vote_pairs / max(1, n_pairs))
    rng = np.random.default_rng(settings.random_state)
    n_tables = selection_of(settings, training).n_tables
    bins, right = [np.empty((0, n_tables), np.uint16)], [np.empty(0, np.uint8)]
    for block in blocks:
        kept = (block.labels >= 0) & (rng.random(block.labels.shape) < share)
        bins.append(block.bins[kept])
        right.append(block.right[kept])
    return np.concatenate(bins), np.concatenate(right)


def block_size(selection: Selection, settings: TrainingSettings) -> int:
    """Rows whose neighbours and candidates take half of the memory budget."""
    base, of_cut = _CANDIDATE_BYTES
    of_row = _NEIGHBOUR_BYTES * (selection.cuts[-1] + 1)
    of_row += (base + of_cut * selection.n_tables) * selection.n_ranked
    return int(np.clip(settings.memory_budget // (2 * of_row), 1, _LARGEST_BLOCK))


def host_indexer(index_class: type[Index], placement: Placement, options: Options) -> Indexer:
    """Make a function that indexes rows from the host and returns their search."""
    if (remote := remote_trainer()) is not None:
        return remote.index

    def index(rows: QuantisedRows) -> Search:
        return host_search(index_class.build(placement.rows(rows), placement), placement, options)

    return index


class SearchBackend(NamedTuple):
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
    cap_cost: float | None = None
    """Points of precision that a cap costs; None if that was not asked."""


def prepare(
    rows: ValueRows,
    labels: LabelRows,
    settings: TrainingSettings,
    backend: SearchBackend,
    on_progress: Progress,
    *,
    weighted: bool = True,
    names: Mapping[str, list[str]] | None = None,
    label_features: LabelFeatures | None = None,
    excluded: LabelRows | None = None,
) -> Prepared:
    """Learn feature weights, if wanted, and index the rows, scaled by them where that helps."""
    index_class, placement, options = backend
    weights, recall, use = None, 1.0, Use(False, False)
    settings = settings.for_rows(labels.n_rows, cap_saves_time=index_class.cap_saves_time)
    if weighted:
        index = host_indexer(index_class, placement, options)
        first = first_round(rows, labels, settings, index, on_progress, excluded)
        recall, use = first.stats.recall, use_of_weights(first, rows, labels, backend, on_progress)
        weights = first.weights(first.whole) if use.search else None
        del first  # it holds pairs and models of many rows
    settings = cap_or_exact(settings, use.cap_cost)
    unscaled, scaled = quantise_rows(rows), quantise_rows(rows, weights)
    model = new_model(index_class, placement, placement.rows(scaled), labels, names or {})
    remote = remote_trainer()
    training = Training(
        unscaled, scaled, labels, weights=weights, scales_models=use.label_models, excluded=excluded
    )
    ready = Prepared(
        training,
        replace(model, feature_weights=weights, excluded=excluded),
        remote.index(scaled) if remote else host_search(model.segments[0], placement, options),
        settings.with_sizes(recall),
        settings,
        recall,
        use.cap_cost,
    )
    return with_sources(ready, backend, label_features)


def rows_of_sources(
    unscaled: QuantisedRows, scaled: QuantisedRows, labels: LabelRows, backend: SearchBackend
) -> TrainingRows:
    """What sources are made from."""
    index = host_indexer(*backend)
    return TrainingRows(unscaled, scaled, labels, copy_numbers(unscaled, labels), index)


def with_sources(
    ready: Prepared, backend: SearchBackend, label_features: LabelFeatures | None
) -> Prepared:
    """Add sources of evidence; those that have terms to keep are tried before they are used."""
    training, settings = ready.training, ready.settings
    wanted = settings.centroids if training.labels.n_labels > 0 else False
    if wanted == "auto" and n_summed(training.scaled, training.labels) > MOST_SUMMED:
        note("centroids not tried: they would take much memory; centroids=True makes them")
        wanted = False
    if not wanted and label_features is None:
        return ready
    rows = rows_of_sources(training.unscaled, training.scaled, training.labels, backend)
    sources = []
    if wanted:
        found = training_centroids(rows, scaled=settings.centroids_scaled)
        sources.append(found._replace(terms=IF_THEY_HELP if wanted == "auto" else None))
    if label_features is not None:
        sources.append(training_names(label_features, rows, settings.n_jobs))
    return ready._replace(training=training._replace(sources=tuple(sources)))
