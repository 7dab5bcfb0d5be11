"""Sim = J**beta * cos in float64, one operation at a time in the method's order."""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import inline
from swnn_kernels.scales import COS_SCALE, VOTE_SCALE


@inline
def similarity(dot, overlap, query_size, row_size, beta):  # type: ignore[no-untyped-def]
    """Similarity of a row whose integer dot product and overlap with the query are known."""
    cos = np.float64(dot) * COS_SCALE
    if beta == 0.0:
        return cos
    jaccard = np.float64(overlap) / np.float64(query_size + row_size - overlap)
    if beta == 1.0:
        return cos * jaccard
    if beta == 2.0:
        return cos * (jaccard * jaccard)
    return cos * jaccard**beta


@inline
def vote_weight(sim, alpha):  # type: ignore[no-untyped-def]
    """Weight of a vote, Sim**alpha, as an integer."""
    weight = 1.0
    if alpha == 1.0:
        weight = sim
    elif alpha == 2.0:
        weight = sim * sim
    elif alpha != 0.0:
        weight = sim**alpha
    return np.int64(np.rint(weight * VOTE_SCALE))
