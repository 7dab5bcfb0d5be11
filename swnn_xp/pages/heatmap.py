"""A tuning result as heat maps: a panel for each beta, rows for alpha, columns for S."""

from __future__ import annotations

from typing import NamedTuple

from swnn_xp.tuning.records import Setting, TuningResult


class Panel(NamedTuple):
    """The scores of one beta; None where a pair was not tried."""

    beta: float
    alphas: list[float]
    sizes: list[int]
    scores: list[list[float | None]]


def panels(result: TuningResult) -> list[Panel]:
    """Sort the trials into panels.

    Examples
    --------
    >>> from swnn_xp.tuning.records import Trial
    >>> trial = Trial(Setting(25, 1.0, 0.0), 0.5, 0.0)
    >>> panels(TuningResult("P@1", (trial,), trial, 10, 10, 0.0, 0.0))
    [Panel(beta=0.0, alphas=[1.0], sizes=[25], scores=[[0.5]])]
    """
    score = {trial.setting: trial.score for trial in result.trials}
    found = []
    for beta in sorted({setting.beta for setting in score}):
        alphas = sorted({s.alpha for s in score if s.beta == beta})
        sizes = sorted({s.n_neighbors for s in score if s.beta == beta})
        rows = [[score.get(Setting(S, alpha, beta)) for S in sizes] for alpha in alphas]
        found.append(Panel(beta, alphas, sizes, rows))
    return found


def span(result: TuningResult) -> tuple[float, float]:
    """Lowest and highest score, never equal."""
    scores = [trial.score for trial in result.trials]
    low, high = min(scores), max(scores)
    return (low, high) if low < high else (low - 0.005, high + 0.005)
