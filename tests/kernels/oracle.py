"""The method on dense integers, straight from its definition: what every kernel must return."""

from __future__ import annotations

import math

import numpy as np


def units(row):
    """Fixed-point units of one dense row of floats."""
    largest = np.abs(row).max(initial=0.0)
    if largest == 0.0:
        return np.zeros(row.size, dtype=np.int64)
    scaled = [round(x) for x in (row / largest * 2.0**22).tolist()]
    norm = math.sqrt(float(sum(s * s for s in scaled)))
    return np.array([round(s / norm * 2.0**23) for s in scaled], dtype=np.int64)


def neighbours(rows, query, n_neighbors, beta, dead=None):
    """Ids and sims of the best rows; rows and query are dense floats."""
    unit = units(query)
    found = []
    for i, row in enumerate(rows):
        overlap = int(np.sum((row != 0) & (query != 0)))
        union = int(np.sum((row != 0) | (query != 0)))
        cos = int(np.sum(unit * units(row))) * 2.0**-46
        jaccard = overlap / union if union else 0.0
        sim = cos * {0: 1.0, 1: jaccard, 2: jaccard * jaccard}.get(beta, jaccard**beta)
        if sim > 0 and not (dead is not None and dead[i]):
            found.append((-sim, i))
    found = sorted(found)[:n_neighbors] + [(0.0, -1)] * n_neighbors
    return [i for _, i in found[:n_neighbors]], [-s for s, _ in found[:n_neighbors]]


def ranking(label_sets, ids, sims, alpha, k):
    """Best labels and scores from the neighbours of one query."""
    scores: dict[int, int] = {}
    for i, sim in zip(ids, sims, strict=True):
        weight = {0: 1.0, 1: sim, 2: sim * sim}.get(alpha, sim**alpha if sim else 0.0)
        for label in label_sets[i] if i >= 0 else ():
            scores[label] = scores.get(label, 0) + round(weight * 2.0**40)
    best = sorted((-score, label) for label, score in scores.items())[:k] + [(0, -1)] * k
    return [label for _, label in best[:k]], [-score * 2.0**-40 for score, _ in best[:k]]


def sparse(rows):
    """Canonical arrays indptr, indices, values of dense rows."""
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([np.count_nonzero(row) for row in rows], out=indptr[1:])
    at = np.nonzero(rows)
    return indptr, at[1].astype(np.int32), rows[at]
