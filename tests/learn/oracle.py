"""Scores of a ranked model from its stored integers, dense and slow, straight from definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import oracle

KNOTS = [Fraction(128 + at % 128, 128) * Fraction(2) ** (at // 128 - 10) for at in range(1281)]


def stored(clf):
    """Arrays and numbers of a fitted ranker, as they are saved."""
    arrays, meta = clf.model_.ranking.stored()
    return dict(arrays) | {"g": clf.feature_weights_}, meta


def neighbours(X, query, g, S, beta):
    """(similarity, row) of the best rows, compared by values times feature weights."""

    def scaled(row):
        return row if g is None or not row.any() else row / np.abs(row).max() * g

    t_q, supp_q = oracle.units(scaled(query))[0], set(np.flatnonzero(query).tolist())
    found = []
    for i, row in enumerate(X):
        t_i, supp_i = oracle.units(scaled(row))[0], set(np.flatnonzero(row).tolist())
        cos = int(sum(a * b for a, b in zip(t_q, t_i, strict=True))) * 2.0**-46
        c, union = len(supp_q & supp_i), len(supp_q | supp_i)
        sim = cos if beta == 0 else cos * oracle.power(c / union if union else 0.0, beta)
        if sim > 0:
            found.append((sim, i))
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))[:S]


def scores(model, X, Y, query):
    """Integer score of every candidate, from what `stored` gives."""
    arrays, meta = model
    found = neighbours(X, query, arrays["g"], meta["cuts"][-1], meta["beta"])
    voters = [
        (round(Fraction(oracle.power(sim, meta["alpha"])) * 2**40), np.flatnonzero(Y[i]).tolist())
        for sim, i in found
    ]
    votes = {}
    for weight, labels in voters:
        votes |= {label: votes.get(label, 0) + weight for label in labels}
    best = sorted(votes, key=lambda label: (-votes[label], label))[: meta["n_candidates"]]
    return {label: _score(arrays, meta, label, voters, oracle.units(query)[0]) for label in best}


def _score(arrays, meta, label, voters, t):
    modelled = label < arrays["modelled"].size and bool(arrays["modelled"][label])
    tables = arrays["tables"].reshape(2, len(meta["cuts"]), 1281)[int(modelled)].tolist()
    total = 0
    for values, cut in zip(tables, meta["cuts"], strict=True):
        votes = sum(weight for weight, labels in voters[:cut] if label in labels)
        everyone = sum(weight for weight, _ in voters[:cut])
        share = (votes / everyone if everyone else 0.0) + 2.0**-10  # two IEEE operations
        total += values[sum(knot <= Fraction(share) for knot in KNOTS) - 1]
    if modelled:
        own = slice(arrays["indptr"][label], arrays["indptr"][label + 1])
        parts = zip(arrays["features"][own].tolist(), arrays["weights"][own].tolist(), strict=True)
        total += sum(weight * int(t[feature]) for feature, weight in parts) * 2 ** meta["shift"]
    return total + (int(arrays["biases"][label]) if label < arrays["biases"].size else 0)


def topk(model, X, Y, query, k):
    """Labels and scores of one query, padded with -1 and 0."""
    table = scores(model, X, Y, query)
    best = sorted(table, key=lambda label: (-table[label], label))[:k]
    missing = k - len(best)
    return best + [-1] * missing, [table[label] * 2.0**-38 for label in best] + [0.0] * missing
