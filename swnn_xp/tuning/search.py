"""`tune`: find neighbours once per beta, then vote for every alpha and S."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from swnn_xp.classifier import SWNNClassifier
from swnn_xp.model.targets import encode_labels, label_matrix
from swnn_xp.results import Neighbours
from swnn_xp.rows.records import QuantisedRows
from swnn_xp.search import without_self
from swnn_xp.tuning.records import (
    Setting,
    Trial,
    TuningResult,
    choose_best,
    choose_in_two_stages,
    mean_labels,
    paper_grid,
    to_trials,
    wide_grid,
)
from swnn_xp.tuning.scoring import Fold, Metric, Split, parse_metric

_BLOCK = 256


def tune(
    X: Any,
    y: Any,
    *,
    grid: Literal["paper", "two-step", "wide"] | Sequence[Setting] = "paper",
    metric: str = "P@1",
    split: Split = Split(),  # noqa: B008 - frozen
    propensity: tuple[float, float] = (0.55, 1.5),
    progress: Callable[[int, int], None] | None = None,
    **machine: Any,
) -> TuningResult:
    """Try settings on held-out rows and choose the best.

    The neighbours of a held-out row are found once per beta, for the largest S. The S nearest are
    the first S of them, so every other setting only costs a vote.

    Parameters
    ----------
    X, y : matrices
        Training rows and their labels.
    grid : {"paper", "two-step", "wide"} or list of Setting, default "paper"
        "paper": its six pairs (alpha, beta) with four S. "wide": 140 settings. The best measured is
        chosen, as for a list of your own. "two-step": the settings of "paper", chosen as the paper
        did: the best pair at S = mean labels per row, then the best S for it.
    metric : str, default "P@1"
        "P@k", "R@k", "nDCG@k", "PSP@k" or "PSnDCG@k".
    split : Split
        Which rows are held out. Default: a fifth, at most 10,000, at random.
    propensity : (float, float)
        A and B of the propensity model.
    progress : callable, optional
        Called with the number of rows asked so far and the number of all rows.
    **machine
        ``backend``, ``n_jobs``, ``memory_budget`` and ``device``, as for `SWNNClassifier`.

    Returns
    -------
    TuningResult
        After Ctrl-C, with what was done until then, if anything: all settings are tried on one
        block of rows before the next.

    Examples
    --------
    >>> from swnn_xp.datasets import load
    >>> from swnn_xp.tuning import tune
    >>> data = load("debtags")
    >>> result = tune(data.X_train[:2000], data.y_train[:2000], metric="P@1")
    >>> len(result.trials), result.n_done
    (24, 400)
    """
    scored_by = parse_metric(metric, propensity)
    X, y = sp.csr_array(X), label_matrix(encode_labels(y).labels)
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows but y has {y.shape[0]}")
    settings = _settings(grid, y)
    runs = [_Run(X, y, fold, settings, scored_by.k, machine) for fold in split.of(X.shape[0])]
    total = sum(run.fold.test.size for run in runs)
    try:
        _ask_all(runs, total, progress)
    except KeyboardInterrupt:
        if not any(run.n_done for run in runs):
            raise
    trials = _trials(settings, runs, scored_by)
    rule = "two-step" if isinstance(grid, str) and grid == "two-step" else "best"
    best = choose_best(trials) if rule == "best" else choose_in_two_stages(trials, mean_labels(y))
    return TuningResult(
        scored_by.name,
        trials,
        best,
        sum(run.n_done for run in runs),
        total,
        sum(run.search_seconds for run in runs),
        sum(run.vote_seconds for run in runs),
        rule=rule,
        held_out=str(split),
    )


class _Run:
    """All settings on one fold, block by block."""

    def __init__(
        self,
        X: sp.csr_array,
        y: sp.csr_array,
        fold: Fold,
        settings: list[Setting],
        k: int,
        machine: dict[str, Any],
    ) -> None:
        self._X, self._Y, self.fold, self._k = X, y, fold, k
        self._settings, self._machine = settings, machine
        self._labels = np.empty((len(settings), fold.test.size, k), np.int32)
        self.n_done = 0
        self.search_seconds = self.vote_seconds = 0.0

    def blocks(self) -> Iterator[int]:
        """Try all settings on one block after another; yields the blocks' numbers of rows."""
        clf = SWNNClassifier(**self._machine).fit(
            self._X[self.fold.train], self._Y[self.fold.train]
        )
        for start, stop in pairwise([*range(0, self.fold.test.size, _BLOCK), self.fold.test.size]):
            self._ask(clf, start, stop)
            self.n_done = stop
            yield stop - start

    def _ask(self, clf: SWNNClassifier, start: int, stop: int) -> None:
        block = self._X[self.fold.test[start:stop]]
        model, options = clf.current_model(), clf.options
        index = model.segments[0]
        queries = model.queries(block).scaled
        for beta in sorted({setting.beta for setting in self._settings}):
            mine = [(i, s) for i, s in enumerate(self._settings) if s.beta == beta]
            largest = max(setting.n_neighbors for _, setting in mine)
            began = time.perf_counter()
            sims, ids = self._neighbours(clf, queries, largest, beta, start)
            found = time.perf_counter()
            for i, (S, alpha, _) in mine:
                first = Neighbours(sims[:, :S], ids[:, :S])
                ranked = index.rank_found(first, model.placed_labels, alpha, self._k, options)
                self._labels[i, start:stop] = model.placement.as_input_kind(block, ranked.labels)[0]
            self.search_seconds += found - began
            self.vote_seconds += time.perf_counter() - found

    def _neighbours(
        self, clf: SWNNClassifier, queries: QuantisedRows, S: int, beta: float, start: int
    ) -> Neighbours:
        """Neighbours of the rows from ``start`` on; without the row itself if it is among them."""
        model, options = clf.current_model(), clf.options
        if not self.fold.leave_one_out:
            return model.search(queries, S, beta, options)
        own = self.fold.test[start : start + queries.n_rows]
        found = model.search(queries, S + 1, beta, options)
        return without_self(found, model.placement.to_device(own), S)

    def scores(self, metric: Metric) -> list[float]:
        """Score of each setting over the finished rows."""
        measure = metric.measure(self._Y[self.fold.train])
        truth = self._Y[self.fold.test[: self.n_done]]
        return [measure(truth, labels[: self.n_done]) for labels in self._labels]


def _ask_all(runs: list[_Run], total: int, progress: Callable[[int, int], None] | None) -> None:
    done = 0
    for run in runs:
        for rows in run.blocks():
            done += rows
            if progress is not None:
                progress(done, total)


def _settings(grid: Any, y: Any) -> list[Setting]:
    if isinstance(grid, str) and grid in ("paper", "two-step"):
        return paper_grid(y)
    if isinstance(grid, str) and grid == "wide":
        return wide_grid(y)
    settings = [Setting(int(S), float(alpha), float(beta)) for S, alpha, beta in grid]
    if not settings:
        raise ValueError("the grid has no setting")
    for setting in settings:
        SWNNClassifier(*setting).check_params()
    return settings


def _trials(
    settings: list[Setting], runs: list[_Run], metric: Metric
) -> tuple[Trial[Setting], ...]:
    begun = [run for run in runs if run.n_done]
    scores = [run.scores(metric) for run in begun]
    return to_trials(settings, scores, [run.n_done for run in begun])
