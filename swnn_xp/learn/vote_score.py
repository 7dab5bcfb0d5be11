"""The vote score: how likely a candidate is right, by its shares alone.

``b + sum over cuts of v * log(share + 2**-10) + v' * share``, the same for all labels, fitted by
squared hinge. It is additive over cuts, so that a table of integers for each cut holds it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn import vote_score as kernels
from swnn_kernels.learn.bins import MANTISSA_BITS, N_BINS, SHARE_SHIFT
from swnn_kernels.learn.rank import SCORE_BITS

_PENALTY = 0.0005
_ROUNDS = 30
_CLOSE = 1e-6
_FITTED_BITS = 24  # of the fitted numbers: what is below depends on the build of LAPACK
_MANY_PAIRS = 100_000  # from here on, rounds begin at what fits every tenth pair


class VoteScore(NamedTuple):
    """The value of each bin, for each cut; the constant is in the first cut's."""

    values: NDArray[np.float64]  # (n_cuts, N_BINS)

    def tables(self, weight: float) -> NDArray[np.int64]:
        """Turn the values, times a weight, into integers."""
        return np.rint(self.values * (weight * 2.0**SCORE_BITS)).astype(np.int64)


def knots() -> NDArray[np.float64]:
    """Lower ends of the bins of ``share + 2**-10``, all exact.

    Examples
    --------
    >>> knots()[[0, 1, 128, 1280]].tolist() == [2**-10, 2**-10 * (1 + 1 / 128), 2**-9, 1.0]
    True
    """
    steps = np.arange(N_BINS)
    octave, step = steps >> MANTISSA_BITS, steps & ((1 << MANTISSA_BITS) - 1)
    return np.ldexp(1 + step / (1 << MANTISSA_BITS), octave - 10)


def bin_shares() -> NDArray[np.float64]:
    """Share that stands for each bin: its middle; 0 for the first and 1 for the last."""
    ends = knots() - SHARE_SHIFT
    return np.concatenate([[0.0], (ends[1:-1] + ends[2:]) / 2, [1.0]])


def fit_vote_score(bins: NDArray[np.uint16], right: NDArray[np.uint8]) -> VoteScore:
    """Fit the vote score to candidates.

    Parameters
    ----------
    bins : array of uint16, (n_pairs, n_cuts)
    right : array of bool or uint8, (n_pairs,)

    Examples
    --------
    >>> bins = np.asarray([[0], [1280], [0], [1280]], np.uint16)
    >>> fitted = fit_vote_score(bins, np.asarray([0, 1, 0, 1], np.uint8))
    >>> fitted.values[0, [0, 1280]].round(1).tolist()
    [-1.0, 1.0]
    """
    n_cuts = bins.shape[1]
    columns = _columns()
    if not bins.size or right.all() or not right.any():  # nothing to tell apart
        return VoteScore(np.tile(columns[1] / n_cuts, (n_cuts, 1)))
    values = np.concatenate([column[bins] for column in columns], axis=1)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    deviation[deviation == 0] = 1.0
    weights = _newton((values - mean) / deviation, np.where(right, 1.0, -1.0))
    slopes = weights[:-1] / deviation
    constant = _rounded(weights[-1] - (slopes * mean).sum())
    slopes = _rounded(slopes)
    table = np.stack([column * slopes[i * n_cuts : (i + 1) * n_cuts, None]
                      for i, column in enumerate(columns)]).sum(axis=0)  # fmt: skip
    table[0] += constant
    return VoteScore(table)


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(mantissa, _FITTED_BITS)), exponent - _FITTED_BITS)


def _columns() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    shares = bin_shares()
    # NumPy's own logarithm differs in the last bit between processors and versions.
    return np.asarray([*map(math.log, shares + SHARE_SHIFT)]), shares


def _newton(values: NDArray[np.float64], signs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimise the mean squared hinge and a little L2; the last weight is the constant's."""
    n, m = values.shape
    values = np.concatenate([values, np.ones((n, 1))], axis=1)
    penalty = np.diag([_PENALTY * n / 2] * m + [0.0])
    weights = np.zeros(m + 1)
    if n >= _MANY_PAIRS:
        some = np.ascontiguousarray(values[::10])
        weights = _rounds(some, signs[::10].copy(), penalty / 10, weights)
    return _rounds(values, signs, penalty, weights)


def _rounds(
    values: NDArray[np.float64],
    signs: NDArray[np.float64],
    penalty: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Newton's method from some weights on."""
    m = weights.size
    for _ in range(_ROUNDS):
        hessian, gradient = np.zeros((m, m)), np.zeros(m)
        kernels.add_moments(values, signs, weights, hessian, gradient)
        hessian += np.tril(hessian, -1).T + penalty
        before = weights
        weights = np.asarray(np.linalg.lstsq(hessian, gradient, rcond=None)[0], np.float64)
        if np.abs(weights - before).max() < _CLOSE:
            break
    return weights
