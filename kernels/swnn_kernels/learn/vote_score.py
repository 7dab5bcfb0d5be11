"""Vote scores of candidates from tables, and the sums that fitting those tables needs."""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import kernel


@kernel
def look_up(bins, tables, scores):  # type: ignore[no-untyped-def]
    """Vote score of each candidate: bins (n, n_cuts), tables (n_cuts, N_BINS), all integers."""
    for i in range(bins.shape[0]):
        total = np.int64(0)
        for c in range(bins.shape[1]):
            total += tables[c, bins[i, c]]
        scores[i] = total


@kernel
def add_moments(values, signs, weights, hessian, gradient):  # type: ignore[no-untyped-def]
    """Add the second moments of the pairs inside the margin, and their first with the sign.

    Only the lower triangle of ``hessian`` is filled.
    """
    n, m = values.shape
    for i in range(n):
        score = 0.0
        for a in range(m):
            score += weights[a] * values[i, a]
        if signs[i] * score < 1.0:
            for a in range(m):
                gradient[a] += values[i, a] * signs[i]
                for b in range(a + 1):
                    hessian[a, b] += values[i, a] * values[i, b]
