"""The method in a dozen lines, dense and slow, straight from the definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def units(row):
    """Fixed-point unit values of one dense row, and its support."""
    support = np.flatnonzero(row)
    t = np.zeros(row.size, dtype=object)
    if support.size:
        s = np.rint(row / np.abs(row).max() * 2.0**22)
        n = sum(int(v) ** 2 for v in s)
        t[:] = [int(v) for v in np.rint(s / np.sqrt(np.float64(n)) * 2.0**23)]
    return t, set(support.tolist())


def power(x, p):
    return {0: 1.0, 1: x, 2: x * x}[p] if p in (0, 1, 2) else float(np.float64(x) ** np.float64(p))


def neighbours(X, query, S, beta):
    """(similarity, row) of the best rows: larger first, then the smaller row."""
    t_q, supp_q = units(query)
    found = []
    for i, row in enumerate(X):
        t_i, supp_i = units(row)
        cos = int(sum(a * b for a, b in zip(t_q, t_i, strict=True))) * 2.0**-46
        c, union = len(supp_q & supp_i), len(supp_q | supp_i)
        sim = cos if beta == 0 else cos * power(c / union if union else 0.0, beta)
        if sim > 0:
            found.append((sim, i))
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))[:S]


def scores(X, Y, query, S, alpha, beta):
    """Exact integer score of every label that got a vote, and the sum of all weights."""
    return tally(neighbours(X, query, S, beta), Y, alpha)


def tally(found, Y, alpha):
    """The votes of neighbours: what `scores` returns."""
    weights = [round(Fraction(power(sim, alpha)) * 2**40) for sim, _ in found]
    table: dict[int, int] = {}
    for weight, (_, i) in zip(weights, found, strict=True):
        for label in np.flatnonzero(Y[i]).tolist():
            table[label] = table.get(label, 0) + weight
    return table, sum(weights)


def topk(X, Y, query, S, alpha, beta, k):
    """(label, score) of the best labels: larger first, then the smaller label."""
    return best(scores(X, Y, query, S, alpha, beta)[0], k)


def best(table, k):
    """What `topk` returns, from integer scores."""
    best = sorted(table.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
    return [(label, score / 2.0**40) for label, score in best]
