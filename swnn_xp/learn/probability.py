"""From the score of a ranked label to the probability that it is right, and to a prediction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

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
    # A single answer must not wait for the array API.
    xp: Any = np if isinstance(scores, np.ndarray) else array_namespace(scores)
    likely = probability(scores, calibration)
    return RankedProbabilities(labels, scores, xp.where(labels >= 0, likely, 0 * likely))


def ones(scores: Any, calibration: Calibration | None) -> Any:
    """Ones: the values of labels that are predicted."""
    xp = array_namespace(scores)
    return xp.ones(scores.shape, dtype=xp.int8, device=device(scores))


def positive(scores: Any, calibration: Calibration | None) -> Any:
    """Map scores to positive numbers in the same order; see `SWNNRanker.decision_function`."""
    xp = array_namespace(scores)
    above = scores > 0
    one = xp.ones_like(scores)
    return xp.where(above, one + scores, one / (one - xp.where(above, one * 0, scores)))


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


def by_label(
    labels: Any,
    scores: Any,
    values: Callable[[Any, Calibration | None], Any],
    threshold: float | str | None,
    calibration: Calibration | None,
) -> tuple[Any, Any, Any]:
    """Pointers, labels and values of a CSR matrix of candidates, or of those that are predicted."""
    xp = array_namespace(labels)
    order = xp.argsort(labels, axis=1, stable=True)
    labels, scores = (xp.take_along_axis(part, order, axis=1) for part in (labels, scores))
    kept = labels >= 0
    if threshold is not None:
        kept = kept & is_predicted(scores, threshold, calibration)
    sizes = xp.sum(xp.astype(kept, xp.int64), axis=1)
    indptr = xp.cumulative_sum(sizes, dtype=xp.int64, include_initial=True)
    return indptr, labels[kept], values(scores[kept], calibration)
