"""The result of a search for parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


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
        The choice of the protocol.
    n_done, n_asked : int
        Held-out rows that were asked, and all of them. All settings were tried on the same rows.
    search_seconds, vote_seconds : float
        Where the time went: finding neighbours, once per beta; voting, once per setting.
    """

    metric: str
    trials: tuple[Trial, ...]
    best: Trial
    n_done: int
    n_asked: int
    search_seconds: float
    vote_seconds: float

    @property
    def is_complete(self) -> bool:
        """Whether every row was asked: False after Ctrl-C."""
        return self.n_done == self.n_asked

    def params(self) -> dict[str, Any]:
        """The best setting as parameters of `SWNNClassifier`."""
        return self.best.setting._asdict()

    def to_toml(self) -> str:
        """The best setting as a file that ``swnn fit --params`` takes."""
        S, alpha, beta = self.best.setting
        return (
            f"# {self.metric} = {100 * self.best.score:.2f}% on {self.n_done:,} held-out rows\n"
            f"n_neighbors = {S}\nalpha = {float(alpha)!r}\nbeta = {float(beta)!r}\n"
        )
