"""Predictions of consecutive rows, one by one: what is left of them after thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from swnn_xp.bulk.sources import RowId
from swnn_xp.results import RankedProbabilities, Ranking


class RowAnswer(NamedTuple):
    """The labels of one row, best first."""

    row: int
    id: RowId
    labels: list[int]
    scores: list[float]
    probabilities: list[float] | None


@dataclass(frozen=True)
class Threshold:
    """Which of the ranked labels are given.

    Examples
    --------
    >>> Threshold(min_probability=0.5, at_least=1).count([0.4, 0.3])
    1
    """

    min_probability: float = 0.0
    """Labels below it are left out,"""
    at_least: int = 0
    """but never so many that a row has fewer than this."""

    def __post_init__(self) -> None:
        if not 0 <= self.min_probability <= 1 or math.isnan(self.min_probability):
            raise ValueError(f"min_probability must be from 0 to 1, got {self.min_probability!r}")
        if self.at_least < 0:
            raise ValueError(f"at_least must be at least 0, got {self.at_least!r}")

    def count(self, probabilities: list[float]) -> int:
        """How many labels to give, of those with these falling probabilities."""
        likely = sum(value >= self.min_probability for value in probabilities)
        return max(likely, min(self.at_least, len(probabilities)))


def row_answers(
    first_row: int,
    best: Ranking | RankedProbabilities,
    ids: Sequence[RowId] | None = None,
    threshold: Threshold = Threshold(),
) -> Iterator[RowAnswer]:
    """Take rankings apart; missing labels (-1) and those below the threshold are left out.

    Examples
    --------
    >>> import numpy as np
    >>> best = Ranking(np.asarray([[1, -1]]), np.asarray([[0.5, 0.0]]))
    >>> next(row_answers(7, best, ["a"]))
    RowAnswer(row=7, id='a', labels=[1], scores=[0.5], probabilities=None)
    """
    likely = best.probabilities.tolist() if isinstance(best, RankedProbabilities) else None
    for i, (labels, scores) in enumerate(
        zip(best.labels.tolist(), best.scores.tolist(), strict=True)
    ):
        count = sum(label >= 0 for label in labels)  # missing ones come last
        row_likely = None if likely is None else likely[i][:count]
        if row_likely is not None:
            count = threshold.count(row_likely)
            row_likely = row_likely[:count]
        row_id = None if ids is None else ids[i]
        yield RowAnswer(first_row + i, row_id, labels[:count], scores[:count], row_likely)
