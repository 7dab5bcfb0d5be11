"""The method and its ranker, dense and slow, straight from the definitions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

KNOTS = [Fraction(128 + at % 128, 128) * Fraction(2) ** (at // 128 - 10) for at in range(1281)]
"""Shares of votes at which the tables of a ranker go on to the next entry."""


def quantised(row, g=None):
    """Quantised values of one dense row, times feature weights if there are any; its support."""
    support = np.flatnonzero(row)
    t = np.zeros(row.size, dtype=object)
    if support.size:
        if g is not None:
            row = row / np.abs(row).max() * g
        s = np.rint(row / np.abs(row).max() * 2.0**22)
        n = sum(int(v) ** 2 for v in s)
        t[:] = [int(v) for v in np.rint(s / np.sqrt(np.float64(n)) * 2.0**23)]
    return t, set(support.tolist())


def power(x, p):
    return {0: 1.0, 1: x, 2: x * x}[p] if p in (0, 1, 2) else float(np.float64(x) ** np.float64(p))


def neighbours(X, query, S, beta, g=None):
    """(similarity, row) of the best rows: larger first, then the smaller row."""
    t_q, supp_q = quantised(query, g)
    found = []
    for i, row in enumerate(X):
        t_i, supp_i = quantised(row, g)
        cos = int(sum(a * b for a, b in zip(t_q, t_i, strict=True))) * 2.0**-46
        c, union = len(supp_q & supp_i), len(supp_q | supp_i)
        sim = cos if beta == 0 else cos * power(c / union if union else 0.0, beta)
        if sim > 0:
            found.append((sim, i))
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))[:S]


def capped(X, query, S, beta, postings, g=None):
    """What `neighbours` returns, by the capped search over all of these rows."""
    t_q, supp_q = quantised(query, g)
    rows = [quantised(row, g) for row in X]
    counts = {f: sum(f in supp for _, supp in rows) for f in supp_q}
    taken, left = [], postings
    for f in sorted((f for f in supp_q if counts[f]), key=lambda f: (counts[f], f)):
        left -= counts[f]
        if left < 0 and taken:
            break
        taken.append(f)
    dots = {i: sum(int(t_q[f]) * int(t[f]) for f in taken) for i, (t, _) in enumerate(rows)}
    best = sorted((i for i in dots if dots[i] > 0), key=lambda i: (-dots[i], i))
    best = set(best[: max(postings // 25, 2 * S)])
    found = neighbours(X, query, len(X), beta, g)
    return [(sim, i) for sim, i in found if i in best][:S]


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


def stored(clf):
    """Arrays and numbers of a fitted ranker, as they are saved."""
    arrays, meta = clf.model_.ranking.stored()
    return dict(arrays) | {"g": clf.feature_weights_}, meta


def ranked_scores(model, X, Y, query, sources=None):
    """Integer score of every candidate, from what `stored` gives.

    ``sources`` are those of `sources_of`: for each its number of tables, and the bins of labels.
    """
    arrays, meta = model
    S, beta, postings, g = meta["cuts"][-1], meta["beta"], meta["postings"], arrays["g"]
    found = capped(X, query, S, beta, postings, g) if postings else neighbours(X, query, S, beta, g)
    voters = [
        (round(Fraction(power(sim, meta["alpha"])) * 2**40), np.flatnonzero(Y[i]).tolist())
        for sim, i in found
    ]
    votes, _ = tally(found, Y, meta["alpha"])
    candidates = sorted(votes, key=lambda label: (-votes[label], label))[: meta["n_candidates"]]
    t, _ = quantised(query)
    sources = sources_of(model, query) if sources is None else sources
    return {
        label: _ranked_score(arrays, meta, label, voters, sources, t)
        for label in {*candidates, *(label for _, listed in sources for label in listed)}
    }


def sources_of(model, query):
    """Tables of each source, and the bins of the labels that it lists for a query."""
    arrays, meta = model
    sources = []
    if "centroids" in meta:
        cosines = _near_centroids(arrays, meta, query)  # the best first
        placed = enumerate(cosines.items(), 1)
        sources.append((2, {label: [_bin(cosine), place] for place, (label, cosine) in placed}))
    if "names" in meta:
        t, support = quantised(query)
        sources.append((6, named(*_names(arrays, meta), {f: int(t[f]) for f in support})))
    return sources


def _near_centroids(arrays, meta, query):
    """Cosine of the labels whose centroids are most like the query: larger, then smaller label."""
    t, _ = quantised(query, arrays["g"] if meta["centroids"]["scaled"] else None)
    indptr, indices, values = (
        arrays[f"centroids_{name}"].tolist() for name in ("indptr", "indices", "quantised")
    )
    found = []
    for label in range(len(indptr) - 1):
        own = range(indptr[label], indptr[label + 1])
        found.append((sum(values[p] * int(t[indices[p]]) for p in own) * 2.0**-46, label))
    best = sorted(found, key=lambda pair: (-pair[0], pair[1]))[: meta["centroids"]["n_listed"]]
    return {label: cosine for cosine, label in best if cosine > 0}


def _names(arrays, meta):
    indptr, features, labels, idf, counts, holders, right = (
        arrays[f"names_{name}"].tolist()
        for name in ("indptr", "features", "labels", "idf", "counts", "holders", "right")
    )
    runs = itertools.pairwise(indptr)
    names = [(label, features[a:b]) for label, (a, b) in zip(labels, runs, strict=True)]
    reliability = holders, right, meta["names"]["prior"]
    return names, idf, meta["names"]["unknown"], counts, reliability


CLASSES = 1, 2, 4, 8, 16, 64
SIZES = 4, 6, 8, 10, 12, 15, 20
RELIABILITIES = 0.005, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9
PLACES = 1, 2, 3, 5, 8, 13, 20
SHARES = 0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6


def named(names, idf, unknown, counts, reliability, query, own=None, copies=0, most=40):
    """Bins of the labels that a query names, best first; a name is a label and its features.

    A query is its features with their quantised values; ``own`` are its labels, if it is a training
    row that is left out, with its copies.
    """
    holders, right, prior = reliability
    best = {}
    for i, (label, features) in enumerate(names):
        whole = sum(idf[f] if f < len(idf) else unknown for f in features)
        matched = sum(idf[f] for f in features if f in query)
        if matched and Fraction(matched, whole) >= Fraction(3, 5):
            key = (-(matched * matched // whole), i)
            best[label] = min(best.get(label, ((1, 0), 0)), (key, (matched, whole, i)))
    ranked = sorted((key[0], label, found) for label, (key, found) in best.items())[:most]
    listed = {}
    for place, (_, label, (matched, whole, i)) in enumerate(ranked):
        mine = copies if own is not None and label in own else 0
        rows = sum(counts[label] - mine >= edge for edge in CLASSES)
        part = sum(Fraction(matched, whole) >= Fraction(e, 100) for e in (70, 85, 100))
        size = sum(matched >= e * 2**12 for e in SIZES)
        n, hits = (
            (holders[i] - copies, right[i] - mine) if matched == whole else (holders[i], right[i])
        )
        sure = (hits * 2**12 + 2 * prior) // (n + 2)
        reliable = sum(sure >= round(e * 2**12) for e in RELIABILITIES)
        length = sum(query[f] ** 2 for f in names[i][1] if f in query)
        listed[label] = [
            1 + part * 7 + rows,
            1 + size * 7 + rows,
            1 + reliable * 7 + rows,
            min(len(names[i][1]), 6),
            1 + sum(place >= edge for edge in PLACES),
            1 + sum(length >= round(edge * 2**46) for edge in SHARES) * 7 + rows,
        ]
    return listed


def _bin(share):
    return sum(knot <= Fraction(share + 2.0**-10) for knot in KNOTS) - 1


def _ranked_score(arrays, meta, label, voters, sources, t):
    modelled = label < arrays["modelled"].size and bool(arrays["modelled"][label])
    tables = arrays["tables"].reshape(2, -1, 1281)[int(modelled)].tolist()
    total, at = 0, len(meta["cuts"])
    for n_tables, listed in sources:
        for values, at_bin in zip(tables[at : at + n_tables], listed.get(label, []), strict=False):
            total += values[at_bin]
        at += n_tables
    for values, cut in zip(tables, meta["cuts"], strict=False):
        votes = sum(weight for weight, labels in voters[:cut] if label in labels)
        everyone = sum(weight for weight, _ in voters[:cut])
        total += values[_bin(votes / everyone if everyone else 0.0)]
    if modelled:
        own = slice(arrays["indptr"][label], arrays["indptr"][label + 1])
        parts = zip(arrays["features"][own].tolist(), arrays["weights"][own].tolist(), strict=True)
        total += sum(weight * int(t[feature]) for feature, weight in parts) * 2 ** meta["shift"]
    return total + (int(arrays["biases"][label]) if label < arrays["biases"].size else 0)


def ranked_topk(model, X, Y, query, k, sources=None):
    """Labels and scores of one query, padded with -1 and 0."""
    table = ranked_scores(model, X, Y, query, sources)
    best = sorted(table, key=lambda label: (-table[label], label))[:k]
    missing = k - len(best)
    return best + [-1] * missing, [table[label] * 2.0**-38 for label in best] + [0.0] * missing
