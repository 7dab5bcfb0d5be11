"""Which settings are tried, and how the best is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from swnn_xp.rows.canonical import label_rows
from swnn_xp.tuning.records import RankingSetting, Setting, Trial

PAPER_PAIRS = ((0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (2.0, 0.0), (2.0, 1.0))
PAPER_NEIGHBOURS = (25, 50, 75)
_WIDE_ALPHAS = (0.0, 0.5, 1.0, 2.0, 3.0)
_WIDE_BETAS = (0.0, 0.5, 1.0, 2.0)
_WIDE_NEIGHBOURS = (5, 10, 25, 50, 75, 100)
_RANKING_NEIGHBOURS = (50, 75, 100)
_COSTS = (0.1, 0.2, 0.4, 0.8)
_VOTE_WEIGHTS = (0.35, 0.5, 0.65)


def paper_grid(y: Any) -> list[Setting]:
    """The paper's six pairs (alpha, beta), each with S = mean labels per row, 25, 50, 75.

    Examples
    --------
    >>> len(paper_grid([[1, 1], [1, 1]])), paper_grid([[1, 1]])[0]
    (24, Setting(n_neighbors=2, alpha=0.0, beta=0.0))
    """
    sizes = sorted({mean_labels(y), *PAPER_NEIGHBOURS})
    return [Setting(S, *pair) for pair, S in product(PAPER_PAIRS, sizes)]


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


def choose_in_two_stages(trials: Sequence[Trial], first_size: int) -> Trial:
    """The paper's protocol: the best (alpha, beta) at S = ``first_size``, then its best S."""
    at_first = [trial for trial in trials if trial.setting.n_neighbors == first_size]
    pair = choose_best(at_first).setting[1:]
    return choose_best([trial for trial in trials if trial.setting[1:] == pair])


def choose_best(trials: Sequence[Trial]) -> Trial:
    """The best score; of equals, the one with fewer neighbours, which is faster."""
    return max(trials, key=lambda trial: (trial.score, -trial.setting.n_neighbors))
