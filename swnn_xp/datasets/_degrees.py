"""How many entries each row and each column of a twin gets.

A sequence of whole numbers is built from its five-number summary: straight lines to the median,
a geometric line to the third quartile, then a tail up to the maximum, bent until the mean is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._paper import Summary


def column_tail(rank: Any, last: int, low: float, high: float, bend: float) -> Any:
    """Zipf-Mandelbrot: high at rank 1, low at the last, flat among the first `bend` ranks.

    Word counts of real text bend like this. A tail like `row_tail` has the same summary, but too
    few very frequent words, and with them a query would touch too few postings.
    """
    shift = bend - 0.999
    slope = np.log(high / low) / np.log((last + shift) / (1 + shift))
    return high * ((1 + shift) / (rank + shift)) ** slope


def row_tail(rank: Any, last: int, low: float, high: float, bend: float) -> Any:
    """Zipf's straight line in logarithms, bent to a power: reaches means close to `high` too."""
    height = 1 - np.log(rank) / np.log(max(last, 2))
    return low * (high / low) ** (height ** (1 / bend))


def degree_sequence(
    summary: Summary,
    n: int,
    total: float,
    tail: Callable[[Any, int, float, float, float], Any],
) -> Any:
    """Whole numbers, ascending, with the given summary and about the given sum.

    Parameters
    ----------
    summary : Summary
        Its mean is not used.
    n : int
        How many numbers.
    total : float
        The sum to come near to; missed only where no tail has it.
    tail : function
        `column_tail` or `row_tail`; greater the greater its last argument.

    Returns
    -------
    ndarray
        int64, (n,).
    """
    low, q1, q2, q3, high, _ = summary
    u = np.linspace(0, 1, n)
    body = np.interp(u, [0, 0.25, 0.5], [low, q1, q2])
    upper = (u > 0.5) & (u <= 0.75)
    body[upper] = q2 * (q3 / q2) ** ((u[upper] - 0.5) / 0.25)
    values = np.rint(body).astype(np.int64)
    in_tail = u > 0.75
    last = int(in_tail.sum())
    below = int(values[~in_tail].sum())
    # the sum is estimated from a few thousand ranks, each standing for those around it
    some = np.unique(np.rint(np.geomspace(1, max(last, 1), 4000)))
    edges = np.concatenate([[0.5], (some[1:] + some[:-1]) / 2, [last + 0.5]])
    least, most = -7.0, np.log(10.0 * n)
    for _ in range(60):
        middle = (least + most) / 2
        estimate = (tail(some, last, q3, high, np.exp(middle)) * np.diff(edges)).sum()
        least, most = (least, middle) if below + estimate > total else (middle, most)
    rank = np.arange(last, 0, -1)
    values[in_tail] = np.rint(tail(rank, last, q3, high, np.exp(middle)))
    return values


def thin(counts: Any, scale: float, rng: np.random.Generator) -> Any:
    """Occurrences of columns in a sample of the rows; columns that no longer occur are dropped."""
    if scale == 1:
        return counts
    scaled = rng.binomial(counts, scale) if scale < 1 else np.rint(counts * scale).astype(np.int64)
    return np.sort(scaled[scaled > 0])


def sample(lengths: Any, n: int) -> Any:
    """`n` evenly spaced members of an ascending sequence."""
    return lengths[((np.arange(n) + 0.5) * (len(lengths) / n)).astype(np.int64)]


def with_total(counts: Any, total: int, limit: int) -> Any:
    """Change ascending counts, large ones more, to sum up to `total`, each within 1 to `limit`.

    If there are more counts than `total`, only the largest are kept.
    """
    counts = np.clip(counts[max(0, len(counts) - total) :], 1, limit)
    for _ in range(100):
        missing = total - int(counts.sum())
        if missing == 0:
            break
        room = counts * ((counts < limit) if missing > 0 else (counts > 1))
        share = np.cumsum(room * (missing / room.sum()))
        step = np.diff(np.rint(share), prepend=0).astype(np.int64)
        counts = np.clip(counts + step, 1, limit)
    return counts
