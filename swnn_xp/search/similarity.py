"""Similarity of a query and a row from their dot product and overlap, by the array API.

``Sim = J**beta * cos``: the cosine, discounted by the Jaccard index of the two supports.
"""

from __future__ import annotations

from array_api_compat import array_namespace

from swnn_xp.rows.fixed_point import DOT_SCALE
from swnn_xp.rows.records import Array


def similarity(
    dots: Array, overlaps: Array, query_sizes: Array, row_sizes: Array, beta: float
) -> Array:
    """Similarities of pairs (query, row); the arguments broadcast against each other.

    Parameters
    ----------
    dots : float64 array
        Dot products of quantised rows (exact integers).
    overlaps, query_sizes, row_sizes : float64 arrays
        Shared features, features of the query, features of the row.
    beta : float
        Exponent of the Jaccard index, at least 0.

    Returns
    -------
    float64 array
        Negative where the cosine is.

    Examples
    --------
    >>> import numpy as np
    >>> three, five = np.asarray(3.0), np.asarray(5.0)
    >>> float(similarity(np.asarray(2.0**46), three, three, five, 1.0))
    0.6
    """
    cos = dots * DOT_SCALE
    if beta == 0:
        return cos
    return cos * power(jaccard(overlaps, query_sizes, row_sizes), beta)


def jaccard(overlaps: Array, query_sizes: Array, row_sizes: Array) -> Array:
    """Jaccard index of two supports from their sizes and overlap; 0 where both are empty."""
    xp = array_namespace(overlaps)
    union = query_sizes + row_sizes - overlaps
    return overlaps / xp.where(union > 0, union, xp.ones_like(union))


def power(base: Array, exponent: float) -> Array:
    """Raise to a power; 0, 1 and 2 in plain IEEE operations, so that every backend agrees."""
    xp = array_namespace(base)
    if exponent == 0:
        return xp.ones_like(base)
    if exponent == 1:
        return base
    if exponent == 2:
        return base * base
    return xp.pow(base, xp.asarray(exponent, dtype=base.dtype, device=base.device))
