"""Why a label was predicted: the neighbours that voted for it and what they share with the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from swnn_xp.model.model import Model
from swnn_xp.notebook import facts_table, neighbour_graph
from swnn_xp.results import Neighbours
from swnn_xp.rows.canonical import DOT_SCALE, WEIGHT_SCALE
from swnn_xp.rows.input_kind import host_matrix
from swnn_xp.rows.records import LabelRows, QuantisedRows
from swnn_xp.vote import vote_weights

SHOWN_FEATURES = 8
"""Features that people are shown of each voter or model: those that count most."""


@dataclass(frozen=True)
class SharedFeature:
    """A feature of the query that a neighbour has too, or that a label's model weighs."""

    feature: int
    name: str
    contribution: float
    """What it adds to the cosine, or to the score of a ranked label."""


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
        return self.text(None, SHOWN_FEATURES)

    def text(self, n_voters: int | None = None, n_features: int | None = None) -> str:
        """Describe the best voters, and of each the features that count most; None: all."""
        head = f"{self.name}: score {self.score:.4g}, probability {self.probability:.1%}"
        return "\n".join([head, *self.voter_lines(self.voters, n_voters, n_features)])

    def _repr_html_(self) -> str:
        rows = {"score": f"{self.score:.4g}", "probability": f"{self.probability:.1%}"}
        return facts_table(self.name, rows, self.voter_graph(self.name, self.voters))

    @staticmethod
    def voter_graph(label: str, voters: tuple[Voter, ...]) -> str:
        """Draw the neighbours that voted, for notebooks."""
        return neighbour_graph(
            label,
            [
                (
                    voter.name,
                    voter.share,
                    ", ".join(f.name for f in voter.features[:SHOWN_FEATURES]),
                )
                for voter in voters
            ],
        )

    @staticmethod
    def voter_lines(
        voters: tuple[Voter, ...], n_voters: int | None, n_features: int | None
    ) -> list[str]:
        """Describe the best neighbours that voted, one line each, and count the others."""
        lines = []
        for voter in voters[:n_voters]:
            words = ", ".join(feature.name for feature in voter.features[:n_features])
            lines.append(
                f"  {voter.share:6.1%}  {voter.name}  similarity {voter.similarity:.4f}, "
                f"{voter.overlap} shared: {words}"
            )
        if others := voters[len(lines) :]:
            share = sum(voter.share for voter in others)
            lines.append(f"  {share:6.1%}  {len(others)} more")
        return lines


def as_single_row(model: Model, x: Any) -> Any:
    """Turn what a user calls one row into a matrix (1, n_features) on the host."""
    row = host_matrix(model.rows_of([x] if isinstance(x, str) else x))
    row = row if sp.issparse(row) else np.atleast_2d(np.asarray(row))
    if row.shape[0] != 1:
        raise ValueError(f"explain takes one row, got {row.shape[0]}")
    return row


def explain_votes(
    model: Model, query: QuantisedRows, found: Neighbours, label: int, alpha: float
) -> Explanation:
    """Explain one label by the votes of given neighbours."""
    weights = vote_weights(found, alpha)[0]
    ids, sims = found.ids[0], found.similarities[0]
    voted = np.asarray(
        [i >= 0 and _has_label(model.checked_labels, int(i), label) for i in ids], dtype=bool
    )
    score = int(weights[voted].sum())
    explained = tuple(
        _voter(model, query, int(i), float(sim), int(weight), score)
        for i, sim, weight in zip(ids[voted], sims[voted], weights[voted], strict=True)
    )
    return Explanation(
        label=label,
        name=_name(model.names.get("label_names"), label),
        score=score / WEIGHT_SCALE,
        probability=score / max(int(weights.sum()), 1),
        voters=explained,
    )


def _has_label(labels: LabelRows, position: int, label: int) -> bool:
    start, stop = labels.indptr[position], labels.indptr[position + 1]
    at = start + np.searchsorted(labels.indices[start:stop], label)
    return bool(at < stop and labels.indices[at] == label)


def _voter(
    model: Model, query: QuantisedRows, position: int, sim: float, weight: int, score: int
) -> Voter:
    at, quantised = model.shared_features(position, query.indices)
    gains = query.quantised[at].astype(np.int64) * quantised * DOT_SCALE
    shared = [
        SharedFeature(int(f), _name(model.names.get("feature_names"), int(f)), float(gain))
        for f, gain in zip(query.indices[at], gains, strict=True)
    ]
    shared.sort(key=lambda feature: -feature.contribution)
    row = model.id_of(position)
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
