"""Why a ranked label was predicted: what the neighbours gave, and what its model gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.candidates import N_BINS, SHARE_SHIFT
from swnn_kernels.learn.rank import SCORE_BITS
from swnn_kernels.learn.scorer import Ranker
from swnn_xp.backends import Options, Settings
from swnn_xp.learn.calibration import probability
from swnn_xp.learn.candidates import knots
from swnn_xp.learn.records import Learned
from swnn_xp.model.explain import Explanation, SharedFeature, Voter, explain_votes, find_voters
from swnn_xp.model.model import Model
from swnn_xp.notebook import facts
from swnn_xp.results import Neighbours
from swnn_xp.rows.input_kind import host_rows
from swnn_xp.vote import vote_weights

_STEP = 2.0**-SCORE_BITS


@dataclass(frozen=True)
class RankedExplanation:
    """The two parts of one label's score for one row: ``score == vote + model`` exactly."""

    label: int
    name: str
    score: float
    probability: float
    vote: float
    """What the neighbours give."""
    model: float
    """What the label's linear model gives: its bias and the row's features."""
    bias: float
    """The same for every row. With ``rare_labels``, what rarity adds is in it; without it, a label
    that has no model has no bias."""
    features: tuple[SharedFeature, ...]
    """Features of the row that the model weighs, the largest magnitude first. With the bias, their
    contributions add up to ``model`` exactly."""
    voters: tuple[Voter, ...]
    """Neighbours that have the label; see `Voter`."""

    def __str__(self) -> str:
        head = f"{self.name}: score {self.score:.4g}, probability {self.probability:.1%}"
        lines = [f"{head} = {self.vote:+.4g} vote {self.model:+.4g} model"]
        if self.features or self.bias:
            words = ", ".join(f"{f.name} {f.contribution:+.3g}" for f in self.features[:8])
            lines.append(f"  model: bias {self.bias:+.3g}{', ' if words else ''}{words}")
        return "\n".join([*lines, *Explanation.voter_lines(self.voters)])

    def _repr_html_(self) -> str:
        words = ", ".join(f"{f.name} {f.contribution:+.3g}" for f in self.features[:8])
        rows = {
            "score": f"{self.score:.4g} = {self.vote:+.4g} vote {self.model:+.4g} model",
            "probability": f"{self.probability:.1%}",
            "model": f"bias {self.bias:+.3g}{', ' if words else ''}{words}",
        }
        return facts(self.name, rows, Explanation.voter_graph(self.name, self.voters))


def explain_ranking(
    model: Model, row: Any, label: int, settings: Settings, options: Options
) -> RankedExplanation:
    """Explain one label of one row, which is a matrix on the host."""
    learned: Learned = model.learned
    ranker = learned.checked_ranker
    query, found = find_voters(model, row, settings, options)
    base = explain_votes(model, query, found, label, settings.alpha)
    has_model = label < ranker.modelled.size and bool(ranker.modelled[label])
    vote = _vote_score(model, found, base, settings.alpha, has_model)
    features, contributions, bias = _linear_parts(model, row, label, ranker, has_model)
    linear = int(contributions.sum()) + bias
    score = np.asarray((vote + linear) * _STEP)
    names = model.names.get("feature_names")
    order = np.argsort(-np.abs(contributions), kind="stable")
    return RankedExplanation(
        label=label,
        name=base.name,
        score=score.item(),
        probability=probability(score, learned.calibration).item(),
        vote=vote * _STEP,
        model=linear * _STEP,
        bias=bias * _STEP,
        features=tuple(
            SharedFeature(f, names[f] if names is not None else str(f), int(part) * _STEP)
            for f, part in zip(features[order].tolist(), contributions[order], strict=True)
        ),
        voters=base.voters,
    )


def _vote_score(
    model: Model, found: Neighbours, base: Explanation, alpha: float, has_model: bool
) -> int:
    """Integer vote score of the label: one table entry for each cut."""
    learned: Learned = model.learned
    weights = vote_weights(found, alpha)[0]
    voters = {voter.row for voter in base.voters}
    voted = np.asarray([i >= 0 and model.id_of(int(i)) in voters for i in found.ids[0]])
    total, n_cuts = 0, len(learned.selection.cuts)
    for cut, size in enumerate(learned.selection.cuts):
        weight = int(weights[:size].sum())
        share = int(weights[:size][voted[:size]].sum()) / weight if weight > 0 else 0.0
        at = int(np.searchsorted(knots(), share + SHARE_SHIFT, side="right")) - 1
        entry = (int(has_model) * n_cuts + cut) * N_BINS + at
        total += int(learned.checked_ranker.tables[entry])
    return total


def _linear_parts(
    model: Model, row: Any, label: int, ranker: Ranker, has_model: bool
) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """Features of the row that the label's model weighs, what each adds, and the bias."""
    bias = int(ranker.biases[label]) if label < ranker.biases.size else 0
    if not has_model:
        return np.zeros(0, np.int32), np.zeros(0, np.int64), bias
    query = host_rows(model.queries(row, weighted=False))
    own = slice(int(ranker.indptr[label]), int(ranker.indptr[label + 1]))
    features, at, within = np.intersect1d(
        query.indices, ranker.features[own], assume_unique=True, return_indices=True
    )
    products = query.quantised[at].astype(np.int64) * ranker.weights[own][within]
    return features, products << ranker.shift, bias
