"""Why a label was predicted: the neighbours that voted for it and what they share with the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swnn_xp._sparse import canonical_rows
from swnn_xp._types import UnitRows
from swnn_xp.fixed_point import DOT_SCALE, unit_rows
from swnn_xp.vote import WEIGHT_SCALE, vote_weights

if TYPE_CHECKING:
    from swnn_xp.classifier import SWNNClassifier


@dataclass(frozen=True)
class SharedFeature:
    """A feature that query and neighbour have in common."""

    feature: int
    name: str
    contribution: float
    """What it adds to the cosine."""


@dataclass(frozen=True)
class Voter:
    """A neighbour that voted for the label."""

    row: int
    name: str
    similarity: float
    weight: float
    share: float
    """Part of the label's score that comes from this neighbour."""
    overlap: int
    features: tuple[SharedFeature, ...]
    """The shared features, the largest contribution first."""


@dataclass(frozen=True)
class Explanation:
    """The votes for one label of one row.

    ``probability`` is the label's share of all neighbours' weight.
    """

    label: int
    name: str
    score: float
    probability: float
    voters: tuple[Voter, ...]

    def __str__(self) -> str:
        lines = [f"{self.name}: score {self.score:.4g}, probability {self.probability:.1%}"]
        for voter in self.voters:
            words = ", ".join(feature.name for feature in voter.features[:8])
            lines.append(
                f"  {voter.share:6.1%}  {voter.name}  similarity {voter.similarity:.4f}, "
                f"{voter.overlap} shared: {words}"
            )
        return "\n".join(lines)


def explain_label(clf: SWNNClassifier, row: Any, label: int) -> Explanation:
    """Explain one label of one row (a matrix on the host) with a fitted classifier."""
    found = clf.kneighbors(row)
    query = unit_rows(canonical_rows(row))
    weights = vote_weights(found, clf.alpha)[0]
    ids, sims = found.ids[0], found.sims[0]
    voted = np.asarray([i >= 0 and _has_label(clf, int(i), label) for i in ids], dtype=bool)
    score = int(weights[voted].sum())
    voters = tuple(
        _voter(clf, query, int(i), float(sim), int(weight), score)
        for i, sim, weight in zip(ids[voted], sims[voted], weights[voted], strict=True)
    )
    return Explanation(
        label=label,
        name=_name(clf.label_names_, label),
        score=score / WEIGHT_SCALE,
        probability=score / max(int(weights.sum()), 1),
        voters=voters,
    )


def _has_label(clf: SWNNClassifier, row: int, label: int) -> bool:
    start, stop = clf.labels_.indptr[row], clf.labels_.indptr[row + 1]
    at = start + np.searchsorted(clf.labels_.indices[start:stop], label)
    return bool(at < stop and clf.labels_.indices[at] == label)


def _voter(
    clf: SWNNClassifier, query: UnitRows, row: int, sim: float, weight: int, score: int
) -> Voter:
    positions, units = clf.index_.shared(row, query.indices)
    gains = query.units[positions].astype(np.int64) * units * DOT_SCALE
    shared = [
        SharedFeature(int(f), _name(clf.feature_names_, int(f)), float(gain))
        for f, gain in zip(query.indices[positions], gains, strict=True)
    ]
    shared.sort(key=lambda feature: -feature.contribution)
    return Voter(
        row=row,
        name=_name(clf.row_names_, row, "row "),
        similarity=sim,
        weight=weight / WEIGHT_SCALE,
        share=weight / score if score else 0.0,
        overlap=len(shared),
        features=tuple(shared),
    )


def _name(names: Any, number: int, prefix: str = "") -> str:
    return names[number] if names is not None else f"{prefix}{number}"
