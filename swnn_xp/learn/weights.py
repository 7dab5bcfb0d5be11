"""Feature weights: what label models say of a feature, and how far it is believed.

A weight is measured on the rows that have the feature. Of few rows it is mostly noise, and of none
nothing is known: weights are shrunk towards 1, as if each had been measured on some more rows of
weight 1. How many is estimated (empirical Bayes): with the right number, the weights of one half of
the rows predict best what the other half says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.descent import SQUARES_SCALE

_PRIOR_ROWS = tuple(2.0 ** (step / 2) for step in range(16, -1, -1))  # 256 to 1


class FeatureUse(NamedTuple):
    """What label models make of each feature on some rows."""

    squares: NDArray[np.int64]
    """Squared weights of each feature, added up over all labels, times ``SQUARES_SCALE``."""
    n_rows: NDArray[np.int64]
    """Rows that have the feature, of those that the models were trained on."""

    def weights(self) -> NDArray[np.float64]:
        """Root of a feature's squared weights over its rows; 1 in the mean over those in use.

        Examples
        --------
        >>> squares = (np.asarray([8.0, 1.0, 0.0]) * SQUARES_SCALE).astype(np.int64)
        >>> FeatureUse(squares, np.asarray([2, 1, 0])).weights().round(3).tolist()
        [1.333, 0.667, 0.0]
        """
        weights = np.sqrt(self.squares / SQUARES_SCALE / np.maximum(self.n_rows, 1))
        used = weights > 0
        return weights / weights[used].mean() if used.any() else np.ones(weights.size)

    def shrunk(self, prior_rows: float) -> NDArray[np.float64]:
        """Weights as if each feature had that many more rows, of weight 1.

        Examples
        --------
        >>> squares = (np.asarray([8.0, 1.0, 0.0]) * SQUARES_SCALE).astype(np.int64)
        >>> FeatureUse(squares, np.asarray([2, 1, 0])).shrunk(1.0).round(3).tolist()
        [1.222, 0.833, 1.0]
        """
        return (self.n_rows * self.weights() + prior_rows) / (self.n_rows + prior_rows)


def prior_rows(halves: Sequence[FeatureUse]) -> float:
    """Rows of weight 1 with which the weights of each half predict those of the other best.

    The squared errors of a feature count as often as the half to be predicted has rows of it: so
    much surer is what it says. Without anything to compare, weights are shrunk most.

    Parameters
    ----------
    halves : two FeatureUse
        Of two halves of the rows, each with models of its own.
    """
    told = [half.weights() for half in halves]
    both = (halves[0].n_rows > 0) & (halves[1].n_rows > 0)

    def error(prior: float) -> float:
        errors = [
            (of.n_rows * (by.shrunk(prior) - value) ** 2)[both].sum()
            for by, of, value in zip(halves, halves[::-1], told[::-1], strict=True)
        ]
        return float(sum(errors))

    return min(_PRIOR_ROWS, key=error)  # the first, largest one of equals
