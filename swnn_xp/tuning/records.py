"""The result of a search for parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from swnn_xp.notebook import facts

RULES = {
    "best": "the best measured",
    "two-step": "the paper's two steps: the best (alpha, beta) at S = mean labels per row, then "
    "the best S for it",
}
"""How a setting is chosen."""


class Setting(NamedTuple):
    """Parameters of the classifier."""

    n_neighbors: int
    alpha: float
    beta: float


class Trial(NamedTuple):
    """A setting and its score."""

    setting: Setting
    score: float
    """Mean over the folds, between 0 and 1."""
    spread: float
    """Standard deviation over the folds; 0 for a single one."""


@dataclass(frozen=True)
class TuningResult:
    """What `tune` found.

    Attributes
    ----------
    metric : str
        Such as "P@1".
    trials : tuple of Trial
        One per setting, in the order of the grid.
    best : Trial
        The choice of the rule.
    n_done, n_asked : int
        Held-out rows that were asked, and all of them. All settings were tried on the same rows.
    search_seconds, vote_seconds : float
        Where the time went: finding neighbours, once per beta; voting, once per setting.
    rule : str
        How ``best`` was chosen: one of `RULES`.
    held_out : str
        Which rows were asked.
    """

    metric: str
    trials: tuple[Trial, ...]
    best: Trial
    n_done: int
    n_asked: int
    search_seconds: float
    vote_seconds: float
    rule: str = "best"
    held_out: str = "held out at random"

    @property
    def is_complete(self) -> bool:
        """Whether every row was asked: False after Ctrl-C."""
        return self.n_done == self.n_asked

    def params(self) -> dict[str, Any]:
        """The best setting as parameters of `SWNNClassifier`."""
        return self.best.setting._asdict()

    def _repr_html_(self) -> str:
        return _result_html(self.best, self.trials, self.metric, self.rule, self.held_out)

    def to_toml(self) -> str:
        """The best setting as a file that ``swnn fit --params`` takes."""
        S, alpha, beta = self.best.setting
        return (
            f"# {self.metric} = {100 * self.best.score:.2f}% on {self.n_done:,} rows, "
            f"{self.held_out}; chosen: {RULES[self.rule]}\n"
            f"n_neighbors = {S}\nalpha = {float(alpha)!r}\nbeta = {float(beta)!r}\n"
        )


class RankingSetting(NamedTuple):
    """Parameters of the ranker; "auto" leaves one to its rule."""

    n_neighbors: int | Literal["auto"]
    C: float | Literal["auto"]
    vote_weight: float | Literal["auto"]


class RankingTrial(NamedTuple):
    """A setting of the ranker and its score."""

    setting: RankingSetting
    score: float
    """Mean over the folds, between 0 and 1."""
    spread: float
    """Standard deviation over the folds; 0 for a single one."""


@dataclass(frozen=True)
class RankingResult:
    """What `tune_ranking` found.

    Attributes
    ----------
    metric : str
        Such as "P@1".
    trials : tuple of RankingTrial
        One per setting that was tried, in the order of the grid.
    best : RankingTrial
        The best score; of equals, the first.
    n_done, n_asked : int
        Held-out rows that every trial was measured on, and all of them.
    n_settings : int
        Settings of the grid: more than there are trials after Ctrl-C.
    search_seconds, train_seconds : float
        Where the time went: feature weights and neighbours, once per fold; candidates, label
        models and rankings, once per setting.
    fixed : mapping
        Parameters of the ranker that were given and not tuned.
    held_out, rule : str
        Which rows were asked, and how ``best`` was chosen; see `RULES`.
    """

    metric: str
    trials: tuple[RankingTrial, ...]
    best: RankingTrial
    n_done: int
    n_asked: int
    n_settings: int
    search_seconds: float
    train_seconds: float
    fixed: Mapping[str, Any] = field(default_factory=dict)
    held_out: str = "held out at random"
    rule: str = "best"

    @property
    def is_complete(self) -> bool:
        """Whether every setting was tried on every row: False after Ctrl-C."""
        return self.n_done == self.n_asked and len(self.trials) == self.n_settings

    def params(self) -> dict[str, Any]:
        """The best setting as parameters of `SWNNRanker`."""
        return dict(self.fixed) | self.best.setting._asdict()

    def _repr_html_(self) -> str:
        return _result_html(self.best, self.trials, self.metric, self.rule, self.held_out)

    def to_toml(self) -> str:
        """The best setting as a file that ``swnn fit --params`` takes."""
        score = f"{self.metric} = {100 * self.best.score:.2f}%"
        head = f"# {score} on {self.n_done:,} rows, {self.held_out}; chosen: {RULES[self.rule]}"
        lines = [f"{name} = {_toml(value)}" for name, value in self.params().items()]
        return "\n".join([head, 'learn = "ranking"', *lines, ""])


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _result_html(
    best: Trial | RankingTrial,
    trials: Sequence[Trial | RankingTrial],
    metric: str,
    rule: str,
    held_out: str,
) -> str:
    """The choice and the best ten settings, for notebooks."""
    ordered = sorted(trials, key=lambda trial: -trial.score)[:10]
    rows: dict[str, object] = {"chosen": RULES[rule], "rows asked": held_out}
    for trial in [best, *(trial for trial in ordered if trial is not best)]:
        setting = ", ".join(f"{name}={value}" for name, value in trial.setting._asdict().items())
        rows[setting] = f"{100 * trial.score:.2f} %" + " (chosen)" * (trial is best)
    return facts(f"{metric} of {len(trials)} settings", rows)
