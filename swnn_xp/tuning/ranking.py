"""`tune_ranking`: find neighbours once per fold, then train label models for every setting."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from swnn_xp.backends import resolve
from swnn_xp.learn.settings import DescentParams, TrainingSettings
from swnn_xp.learn.train import (
    CandidateStats,
    Prepared,
    Progress,
    SearchBackend,
    Training,
    find_neighbours,
    measure_candidates,
    prepare,
    source_trial,
    to_candidates,
    train_ranking,
    with_useful_sources,
)
from swnn_xp.model.targets import encode_labels, label_matrix
from swnn_xp.ranker import SWNNRanker
from swnn_xp.results import Neighbours
from swnn_xp.rows.canonical import canonical_rows, label_rows
from swnn_xp.tuning.records import RankingResult, RankingSetting, Trial, ranking_grid, to_trials
from swnn_xp.tuning.scoring import Fold, Metric, Split, parse_metric

_MACHINE = ("backend", "memory_budget", "n_jobs", "device")


def tune_ranking(
    X: Any,
    y: Any,
    *,
    grid: Sequence[RankingSetting] | None = None,
    metric: str = "P@1",
    split: Split = Split(),  # noqa: B008 - frozen
    propensity: tuple[float, float] = (0.55, 1.5),
    progress: Progress | None = None,
    **params: Any,
) -> RankingResult:
    """Try settings of `SWNNRanker` on held-out rows and choose the best.

    Feature weights are learned, and neighbours found, once per fold, on the rows that are not held
    out. Label models are trained for every setting. A score is that of
    ``SWNNRanker(**setting).fit`` on these rows, to the last bit.

    Parameters
    ----------
    X, y : matrices
        Training rows and their labels.
    grid : list of RankingSetting, optional
        Default: `ranking_grid`.
    metric : str, default "P@1"
        "P@k", "R@k", "nDCG@k", "PSP@k" or "PSnDCG@k".
    split : Split
        Which rows are held out. Default: a fifth, at most 10,000, at random.
    propensity : (float, float)
        A and B of the propensity model.
    progress : callable, optional
        Called with a stage, how much of it is done, and how much there is.
    **params
        Other parameters of `SWNNRanker`, such as ``n_candidates``, ``beta`` or ``n_jobs``.

    Returns
    -------
    RankingResult
        After Ctrl-C, with the folds that were complete by then, or else with the settings that were
        tried on the first, if any.

    Examples
    --------
    >>> from swnn_xp.datasets import load
    >>> from swnn_xp.tuning import RankingSetting, tune_ranking
    >>> data = load("debtags")
    >>> grid = [RankingSetting(25, C, 0.5) for C in (0.1, 0.4)]
    >>> result = tune_ranking(data.X_train[:2000], data.y_train[:2000], grid=grid)
    >>> len(result.trials), result.n_done
    (2, 400)
    """
    scored_by = parse_metric(metric, propensity)
    X, y = sp.csr_array(X), label_matrix(encode_labels(y).labels)
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows but y has {y.shape[0]}")
    settings = ranking_grid() if grid is None else list(map(RankingSetting._make, grid))
    _check(settings, params)
    if split.leave_one_out:
        raise ValueError("leave_one_out is for tune alone: label models have learned from each row")
    folds = split.of(X.shape[0])
    runs = [_Run(X, y, fold, settings, scored_by, SWNNRanker(**params)) for fold in folds]
    try:
        for number, run in enumerate(runs):
            run.measure(_staged(progress, f"fold {number + 1}: " if len(runs) > 1 else ""))
    except KeyboardInterrupt:
        if not runs[0].scores:
            raise
    whole = [run for run in runs if len(run.scores) == len(settings)] or runs[:1]
    trials = _trials(settings, whole)
    return RankingResult(
        metric=scored_by.name,
        trials=trials,
        best=max(trials, key=lambda trial: trial.score),
        n_done=sum(run.fold.test.size for run in whole),
        n_asked=sum(fold.test.size for fold in folds),
        n_settings=len(settings),
        search_seconds=sum(run.search_seconds for run in runs),
        train_seconds=sum(run.train_seconds for run in runs),
        held_out=str(split),
        fixed={name: value for name, value in params.items() if name not in _MACHINE},
    )


class _Run:
    """All settings on one fold."""

    def __init__(
        self,
        X: sp.csr_array,
        y: sp.csr_array,
        fold: Fold,
        settings: list[RankingSetting],
        metric: Metric,
        ranker: SWNNRanker,
    ) -> None:
        self._X, self._Y, self.fold = X, y, fold
        self._settings, self._metric, self._ranker = settings, metric, ranker
        self.scores: dict[int, float] = {}
        """Of the settings that were tried, by their place in the grid."""
        self.search_seconds = self.train_seconds = 0.0

    def measure(self, on_progress: Progress) -> None:
        """Try the settings one after the other."""
        began = time.perf_counter()
        ready = self._prepare(on_progress)
        search = ready.settings.search
        base = self._ranker.training_settings()._replace(calibrate=False, search=search)
        tried = [
            base._replace(**setting._asdict()).with_sizes(ready.recall)
            for setting in self._settings
        ]
        widest = max(tried, key=lambda settings: settings.cuts[-1])
        neighbours = list(find_neighbours(ready.training, ready.search, widest, on_progress))
        queries = self._X[self.fold.test]
        options, S = self._ranker.options, ready.model.n_voters(widest.cuts[-1])
        asked = ready.model.search(
            ready.model.queries(queries).scaled, S, widest.beta, options, widest.postings
        )
        self.search_seconds = time.perf_counter() - began
        measure = self._metric.measure(self._Y[self.fold.train])
        for i, labels in self._rankings(ready, tried, neighbours, asked, on_progress):
            self.scores[i] = measure(self._Y[self.fold.test], labels)
            self.train_seconds = time.perf_counter() - began - self.search_seconds

    def _prepare(self, on_progress: Progress) -> Prepared:
        ranker, train = self._ranker, self.fold.train
        backend = resolve(ranker.backend, self._X)
        index_class = backend.load()
        placement = index_class.placement.find(backend.name, ranker.device, self._X)
        searched = SearchBackend(index_class, placement, ranker.options)
        rows, labels = canonical_rows(self._X[train], "X"), label_rows(self._Y[train], "y")
        settings = ranker.training_settings()
        return prepare(rows, labels, settings, searched, on_progress, weighted=ranker.learn_weights)

    def _rankings(
        self,
        ready: Prepared,
        tried: list[TrainingSettings],
        neighbours: list[Neighbours],
        asked: Neighbours,
        on_progress: Progress,
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Labels of the held-out rows by each setting; candidates are shared by those of one S."""
        options, queries = self._ranker.options, self._X[self.fold.test]
        prepared_queries = ready.model.queries(queries)
        for S, mine in _by_size(tried).items():
            first = Neighbours(asked.similarities[:, :S], asked.ids[:, :S])
            # Each setting decides for itself which sources it uses; most decide alike.
            known: dict[tuple[str, ...], tuple[Training, CandidateStats]] = {}
            # Settings that leave a parameter to "auto" may come to the same parameters as others.
            done: dict[tuple[tuple[str, ...], DescentParams], NDArray[np.int64]] = {}
            trial = source_trial(ready.training, ready.search, tried[mine[0]], on_progress)
            for i in mine:
                in_stage = _staged(on_progress, f"setting {len(self.scores) + 1} of {len(tried)}: ")
                own = None if trial is None else trial._replace(settings=tried[i])
                training = with_useful_sources(ready.training, own)
                used = tuple(each.source.name for each in training.sources)
                if used not in known:
                    blocks = to_candidates(training, neighbours, tried[i])
                    stats = measure_candidates(training, blocks, tried[i], in_stage)
                    known[used] = training, stats
                training, stats = known[used]
                key = used, stats.descent_params(tried[i])
                if key not in done:
                    ranking = train_ranking(training, stats, tried[i], in_stage, keep=True)
                    model = ready.model
                    best = ranking.rank_found(
                        model, prepared_queries, first, self._metric.k, options
                    )
                    done[key] = model.placement.as_input_kind(queries, best.labels)[0]
                yield i, done[key]


def _by_size(tried: list[TrainingSettings]) -> dict[int, list[int]]:
    sizes = defaultdict(list)
    for i, settings in enumerate(tried):
        sizes[settings.cuts[-1]].append(i)
    return sizes


def _check(settings: list[RankingSetting], params: dict[str, Any]) -> None:
    if not settings:
        raise ValueError("the grid has no setting")
    tuned = [name for name in RankingSetting._fields if name in params]
    if tuned:
        raise ValueError(f"{tuned[0]} is tuned: give it in the grid")
    SWNNRanker.check_known_params(params)
    for setting in settings:
        SWNNRanker(**params, **setting._asdict()).check_params()


def _staged(on_progress: Progress | None, prefix: str) -> Progress:
    def show(stage: str, done: int, total: int) -> None:
        if on_progress is not None:
            on_progress(prefix + stage, done, total)

    return show


def _trials(settings: list[RankingSetting], runs: list[_Run]) -> tuple[Trial[RankingSetting], ...]:
    tried = [i for i in range(len(settings)) if all(i in run.scores for run in runs)]
    scores = [[run.scores[i] for i in tried] for run in runs]
    return to_trials([settings[i] for i in tried], scores, [run.fold.test.size for run in runs])
