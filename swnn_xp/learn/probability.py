"""From the score of a ranked label to the probability that it is right, and to a prediction."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from swnn_xp.learn.calibration import Calibration, predicted
from swnn_xp.results import RankedProbabilities, Ranking


def probability(scores: Any, calibration: Calibration | None = None) -> Any:
    """Probability that a label of this score is right.

    Without a calibration it follows from the loss: the minimum of the expected squared hinge is at
    ``score = 2 * probability - 1``.

    Examples
    --------
    >>> import numpy as np
    >>> probability(np.asarray([-1.5, 0.0, 0.5])).tolist()
    [0.0, 0.5, 0.75]
    """
    if calibration is not None:
        return calibration.probabilities(scores)
    xp = array_namespace(scores)
    half = (scores + 1.0) * 0.5
    half = xp.where(half > 0, half, xp.zeros_like(half))
    return xp.where(half < 1, half, xp.ones_like(half))


def with_probabilities(ranking: Ranking, calibration: Calibration | None) -> RankedProbabilities:
    """Add the probability of each label; 0 where there is none."""
    labels, scores = ranking
    xp = array_namespace(scores)
    likely = probability(scores, calibration)
    return RankedProbabilities(labels, scores, xp.where(labels >= 0, likely, 0 * likely))


def is_predicted(scores: Any, threshold: float | str, calibration: Calibration | None) -> Any:
    """Whether a label of this score is predicted; see `predicted`.

    Examples
    --------
    >>> import numpy as np
    >>> is_predicted(np.asarray([-0.5, 0.5]), 0.2, None).tolist()
    [True, True]
    """
    likely = probability(scores) if calibration is None else scores
    return predicted(likely, threshold, calibration)
