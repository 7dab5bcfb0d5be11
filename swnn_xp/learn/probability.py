"""From the score of a ranked label to the probability that it is right."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from swnn_xp.results import RankedProbabilities, Ranking


def probability(scores: Any) -> Any:
    """Probability that a label of this score is right.

    The minimum of the expected squared hinge is at ``score = 2 * probability - 1``.

    Examples
    --------
    >>> import numpy as np
    >>> probability(np.asarray([-1.5, 0.0, 0.5])).tolist()
    [0.0, 0.5, 0.75]
    """
    xp = array_namespace(scores)
    half = (scores + 1.0) * 0.5
    half = xp.where(half > 0, half, xp.zeros_like(half))
    return xp.where(half < 1, half, xp.ones_like(half))


def with_probabilities(ranking: Ranking) -> RankedProbabilities:
    """Add the probability of each label; 0 where there is none."""
    labels, scores = ranking
    xp = array_namespace(scores)
    likely = probability(scores)
    return RankedProbabilities(labels, scores, xp.where(labels >= 0, likely, 0 * likely))
