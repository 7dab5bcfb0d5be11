"""Choose parameters on rows held out of the training set."""

from typing import TYPE_CHECKING, Any

from swnn_xp.tuning.records import (
    RankingResult,
    RankingSetting,
    Setting,
    Trial,
    TuningResult,
    paper_grid,
    ranking_grid,
    wide_grid,
)
from swnn_xp.tuning.scoring import Split
from swnn_xp.tuning.search import tune

if TYPE_CHECKING:
    from swnn_xp.tuning.ranking import tune_ranking

__all__ = [
    "RankingResult",
    "RankingSetting",
    "Setting",
    "Split",
    "Trial",
    "TuningResult",
    "paper_grid",
    "ranking_grid",
    "tune",
    "tune_ranking",
    "wide_grid",
]


def __getattr__(name: str) -> Any:
    if name == "tune_ranking":  # on demand: a ranker needs numba, `tune` does not
        from swnn_xp.tuning.ranking import tune_ranking

        return tune_ranking
    raise AttributeError(f"module 'swnn_xp.tuning' has no attribute {name!r}")
