"""Why a label was predicted: the neighbours that voted for it and what they share with the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swnn_xp.results import Neighbours
from swnn_xp.rows.input_kind import host_rows
from swnn_xp.rows.quantise import DOT_SCALE
from swnn_xp.rows.records import LabelRows, QuantisedRows
from swnn_xp.vote.votes import WEIGHT_SCALE, vote_weights

if TYPE_CHECKING:
    from swnn_xp.classifier import SWNNClassifier
    from swnn_xp.model.model import Model


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
    model = clf.model_
    queries = clf._queries(row)
    found = model.search(queries, model.voters(int(clf.n_neighbors)), float(clf.beta))
    found = Neighbours(*model.index.like(row, *found))
    query = host_rows(queries)
    weights = vote_weights(found, clf.alpha)[0]
    ids, sims = found.ids[0], found.sims[0]
    voted = np.asarray(
        [i >= 0 and _has_label(model.voting_labels, int(i), label) for i in ids], dtype=bool
    )
    score = int(weights[voted].sum())
    voters = tuple(
        _voter(model, query, int(i), float(sim), int(weight), score)
        for i, sim, weight in zip(ids[voted], sims[voted], weights[voted], strict=True)
    )
    return Explanation(
        label=label,
        name=_name(model.names.get("label_names"), label),
        score=score / WEIGHT_SCALE,
        probability=score / max(int(weights.sum()), 1),
        voters=voters,
    )


def _has_label(labels: LabelRows, place: int, label: int) -> bool:
    start, stop = labels.indptr[place], labels.indptr[place + 1]
    at = start + np.searchsorted(labels.indices[start:stop], label)
    return bool(at < stop and labels.indices[at] == label)


def _voter(
    model: Model,
    query: QuantisedRows,
    place: int,
    sim: float,
    weight: int,
    score: int,
) -> Voter:
    positions, quantised = model.index.shared(place, query.indices)
    gains = query.quantised[positions].astype(np.int64) * quantised * DOT_SCALE
    shared = [
        SharedFeature(int(f), _name(model.names.get("feature_names"), int(f)), float(gain))
        for f, gain in zip(query.indices[positions], gains, strict=True)
    ]
    shared.sort(key=lambda feature: -feature.contribution)
    row = model.id_of(place)
    return Voter(
        row=row,
        name=_name(model.names.get("row_names"), row, "row "),
        similarity=sim,
        weight=weight / WEIGHT_SCALE,
        share=weight / score if score else 0.0,
        overlap=len(shared),
        features=tuple(shared),
    )


def _name(names: Any, number: int, prefix: str = "") -> str:
    return names[number] if names is not None else f"{prefix}{number}"
