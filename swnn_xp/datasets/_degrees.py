"""How many entries each row and each column of a twin gets.

A sequence of whole numbers is drawn up from its five-number summary: straight lines to the median,
a geometric line to the third quartile, then a Zipf-like tail up to the maximum, bent until the
mean is right.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._paper import Summary


def degree_sequence(summary: Summary, n: int, total: float) -> Any:
    """Whole numbers, ascending, with the given summary and about the given sum.

    Parameters
    ----------
    summary : Summary
        Its mean is not used.
    n : int
        How many numbers.
    total : float
        The sum to come near to; missed only where no tail between the third quartile and the
        maximum has it.

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
    tail = int((u > 0.75).sum())
    rank = np.arange(tail, 0, -1)
    height = 1 - np.log(rank) / np.log(max(tail, 2))  # 0 at the quartile, 1 at the maximum
    head = values[: n - tail].sum()
    soft, hard = 1e-3, 1e3  # exponents: all at the maximum, all at the quartile
    for _ in range(60):
        bend = np.sqrt(soft * hard)
        values[n - tail :] = np.rint(q3 * (high / q3) ** (height**bend))
        if head + values[n - tail :].sum() > total:
            soft = bend
        else:
            hard = bend
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
    """Change the larger counts a little so that they sum up to `total`, each within 1 to `limit`."""
    counts = np.clip(counts, 1, limit)
    for _ in range(100):
        missing = total - int(counts.sum())
        if missing == 0:
            break
        room = counts * ((counts < limit) if missing > 0 else (counts > 1))
        share = np.cumsum(room * (missing / room.sum()))
        step = np.diff(np.rint(share), prepend=0).astype(np.int64)
        counts = np.clip(counts + step, 1, limit)
    return counts
