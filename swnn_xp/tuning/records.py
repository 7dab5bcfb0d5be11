"""Which settings are tried, how the best is chosen, and what is known of each afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from swnn_xp.notebook import facts_table
from swnn_xp.rows.canonical import label_rows

_PAPER_PAIRS = ((0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (2.0, 0.0), (2.0, 1.0))
_PAPER_NEIGHBOURS = (25, 50, 75)
_WIDE_ALPHAS = (0.0, 0.5, 1.0, 2.0, 3.0)
_WIDE_BETAS = (0.0, 0.5, 1.0, 2.0)
_WIDE_NEIGHBOURS = (5, 10, 25, 50, 75, 100)
_RANKING_NEIGHBOURS = (50, 75, 100)
_COSTS = (0.1, 0.2, 0.4, 0.8)
_VOTE_WEIGHTS = (0.35, 0.5, 0.65)
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


class RankingSetting(NamedTuple):
    """Parameters of the ranker; "auto" leaves one to its rule."""

    n_neighbors: int | Literal["auto"]
    C: float | Literal["auto"]
    vote_weight: float | Literal["auto"]


AnySetting = TypeVar("AnySetting", bound=Setting | RankingSetting)


class Trial(NamedTuple, Generic[AnySetting]):
    """A setting and its score."""

    setting: AnySetting
    score: float
    """Mean over the folds, between 0 and 1."""
    spread: float
    """Standard deviation over the folds; 0 for a single one."""


def to_trials(
    settings: Sequence[AnySetting], scores: Sequence[Sequence[float]], n_rows: Sequence[int]
) -> tuple[Trial[AnySetting], ...]:
    """Sum up the scores of each fold; a fold counts by its number of test rows."""
    of_folds, sizes = np.asarray(scores), np.asarray(n_rows)
    means, spreads = sizes / sizes.sum() @ of_folds, of_folds.std(axis=0)
    return tuple(map(Trial, settings, means.tolist(), spreads.tolist()))


@dataclass(frozen=True)
class _Result(Generic[AnySetting]):
    """What the results of `tune` and `tune_ranking` share."""

    metric: str
    trials: tuple[Trial[AnySetting], ...]
    best: Trial[AnySetting]
    n_done: int
    n_asked: int
    held_out: str = field(default="held out at random", kw_only=True)
    rule: str = field(default="best", kw_only=True)

    @property
    def is_complete(self) -> bool:
        """Whether every setting was tried on every row: False after Ctrl-C."""
        return self.n_done == self.n_asked

    def params(self) -> dict[str, Any]:
        """The best setting as parameters of the estimator."""
        return self.best.setting._asdict()

    def to_toml(self) -> str:
        """The best setting as a file that ``swnn fit --params`` takes."""
        score = f"{self.metric} = {100 * self.best.score:.2f}%"
        head = f"# {score} on {self.n_done:,} rows, {self.held_out}; chosen: {RULES[self.rule]}"
        lines = [f"{name} = {_toml(value)}" for name, value in self.params().items()]
        return "\n".join([head, *lines, ""])

    def _repr_html_(self) -> str:
        """The choice and the best ten settings, for notebooks."""
        ordered = sorted(self.trials, key=lambda trial: -trial.score)[:10]
        rows: dict[str, object] = {"chosen": RULES[self.rule], "rows asked": self.held_out}
        for trial in [self.best, *(trial for trial in ordered if trial is not self.best)]:
            named = trial.setting._asdict().items()
            setting = ", ".join(f"{name}={value}" for name, value in named)
            rows[setting] = f"{100 * trial.score:.2f} %" + " (chosen)" * (trial is self.best)
        return facts_table(f"{self.metric} of {len(self.trials)} settings", rows)


@dataclass(frozen=True)
class TuningResult(_Result[Setting]):
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
    held_out, rule : str
        Which rows were asked, and how ``best`` was chosen; see `RULES`.
    """

    search_seconds: float
    vote_seconds: float


@dataclass(frozen=True)
class RankingResult(_Result[RankingSetting]):
    """What `tune_ranking` found.

    Attributes
    ----------
    metric : str
        Such as "P@1".
    trials : tuple of Trial
        One per setting that was tried, in the order of the grid.
    best : Trial
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

    n_settings: int
    search_seconds: float
    train_seconds: float
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether every setting was tried on every row: False after Ctrl-C."""
        return super().is_complete and len(self.trials) == self.n_settings

    def params(self) -> dict[str, Any]:
        """The best setting, and what was not tuned, as parameters of `SWNNRanker`."""
        return dict(self.fixed) | super().params()

    def to_toml(self) -> str:
        """The best setting as a file that ``swnn fit --params`` takes."""
        head, lines = super().to_toml().split("\n", 1)
        return f'{head}\nlearn = "ranking"\n{lines}'


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def paper_grid(y: Any) -> list[Setting]:
    """The paper's six pairs (alpha, beta), each with S = mean labels per row, 25, 50, 75.

    Examples
    --------
    >>> len(paper_grid([[1, 1], [1, 1]])), paper_grid([[1, 1]])[0]
    (24, Setting(n_neighbors=2, alpha=0.0, beta=0.0))
    """
    sizes = sorted({mean_labels(y), *_PAPER_NEIGHBOURS})
    return [Setting(S, *pair) for pair, S in product(_PAPER_PAIRS, sizes)]


def wide_grid(y: Any) -> list[Setting]:
    """Five alphas, four betas, and seven S from 5 to 100.

    Examples
    --------
    >>> len(wide_grid([[1, 1], [1, 1]]))
    140
    """
    sizes = sorted({mean_labels(y), *_WIDE_NEIGHBOURS})
    return [Setting(S, alpha, beta) for beta, alpha, S in product(_WIDE_BETAS, _WIDE_ALPHAS, sizes)]


def ranking_grid() -> list[RankingSetting]:
    """What the ranker chooses by itself, and 36 settings around it.

    Examples
    --------
    >>> len(ranking_grid()), ranking_grid()[1]
    (37, RankingSetting(n_neighbors=50, C=0.1, vote_weight=0.35))
    """
    auto = RankingSetting("auto", "auto", "auto")
    return [auto, *map(RankingSetting._make, product(_RANKING_NEIGHBOURS, _COSTS, _VOTE_WEIGHTS))]


def mean_labels(y: Any) -> int:
    """Mean number of labels per row, at least 1."""
    labels = label_rows(y, "y")
    return max(1, round(labels.indices.size / max(labels.n_rows, 1)))


def choose_in_two_stages(trials: Sequence[Trial[Setting]], first_size: int) -> Trial[Setting]:
    """The paper's protocol: the best (alpha, beta) at S = ``first_size``, then its best S."""
    at_first = [trial for trial in trials if trial.setting.n_neighbors == first_size]
    pair = choose_best(at_first).setting[1:]
    return choose_best([trial for trial in trials if trial.setting[1:] == pair])


def choose_best(trials: Sequence[Trial[Setting]]) -> Trial[Setting]:
    """The best score; of equals, the one with fewer neighbours, which is faster."""
    return max(trials, key=lambda trial: (trial.score, -trial.setting.n_neighbors))
