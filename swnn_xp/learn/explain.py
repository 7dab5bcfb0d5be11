"""Why a ranked label was predicted: what neighbours, other evidence and its model gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.rank import SCORE_BITS
from swnn_kernels.learn.scorer import Ranker
from swnn_xp.model.calibration import Calibration, score_probability
from swnn_xp.model.explain import SHOWN_FEATURES, Explanation, SharedFeature, Voter
from swnn_xp.notebook import facts_table
from swnn_xp.rows.records import QuantisedRows

_STEP = 2.0**-SCORE_BITS


class SourcePart(NamedTuple):
    """What a source adds to a label's score, as an integer, and the features that speak for it."""

    name: str
    added: int
    features: tuple[SharedFeature, ...]


@dataclass(frozen=True)
class EvidencePart:
    """What a source of evidence adds to a label's score."""

    name: str
    """"names": the row has words of the label's name; "centroids": the row is like the sum of the
    label's rows."""
    score: float
    features: tuple[SharedFeature, ...]
    """Features of the row that speak for the label, the largest contribution first."""

    def words(self, n_features: int | None = SHOWN_FEATURES) -> str:
        """Names of the features that say most; None: all."""
        return ", ".join(feature.name for feature in self.features[:n_features])


@dataclass(frozen=True)
class RankedExplanation:
    """The parts of one label's score for one row.

    ``score`` is ``vote``, the scores of ``evidence``, and ``model``, added up exactly.
    """

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
    evidence: tuple[EvidencePart, ...] = ()
    """What other sources add that list the label for this row."""

    @property
    def _sum(self) -> str:
        others = "".join(f" {part.score:+.4g} {part.name}" for part in self.evidence)
        return f"{self.vote:+.4g} vote{others} {self.model:+.4g} model"

    def __str__(self) -> str:
        return self.text(None, SHOWN_FEATURES)

    def text(self, n_voters: int | None = None, n_features: int | None = None) -> str:
        """Describe all parts: the features and the voters that count most; None: all."""
        head = f"{self.name}: score {self.score:.4g}, probability {self.probability:.1%}"
        lines = [f"{head} = {self._sum}"]
        for part in self.evidence:
            lines.append(f"  {part.name}: {part.words(n_features)}")
        if self.features or self.bias:
            parts = [f"bias {self.bias:+.3g}"]
            parts += [f"{f.name} {f.contribution:+.3g}" for f in self.features[:n_features]]
            if n_features is not None and (others := self.features[n_features:]):
                rest = sum(feature.contribution for feature in others)
                parts.append(f"{len(others)} more {rest:+.3g}")
            lines.append(f"  model: {', '.join(parts)}")
        return "\n".join([*lines, *Explanation.voter_lines(self.voters, n_voters, n_features)])

    def _repr_html_(self) -> str:
        words = ", ".join(f"{f.name} {f.contribution:+.3g}" for f in self.features[:SHOWN_FEATURES])
        rows = {
            "score": f"{self.score:.4g} = {self._sum}",
            "probability": f"{self.probability:.1%}",
            **{part.name: part.words() for part in self.evidence},
            "model": f"bias {self.bias:+.3g}{', ' if words else ''}{words}",
        }
        return facts_table(self.name, rows, Explanation.voter_graph(self.name, self.voters))


def explain_candidate(
    base: Explanation,
    vote: int,
    sources: Sequence[SourcePart],
    linear: LinearParts,
    feature_names: Sequence[str] | None,
    calibration: Calibration | None,
) -> RankedExplanation:
    """Put the parts of a label's integer score together; ``base`` has its votes."""
    added = int(linear.contributions.sum()) + linear.bias
    listed = sum(part.added for part in sources)
    score = np.asarray((vote + listed + added) * _STEP)
    order = np.argsort(-np.abs(linear.contributions), kind="stable")
    ordered = linear.features[order].tolist(), linear.contributions[order]
    return RankedExplanation(
        label=base.label,
        name=base.name,
        score=score.item(),
        probability=score_probability(score, calibration).item(),
        vote=vote * _STEP,
        model=added * _STEP,
        bias=linear.bias * _STEP,
        features=tuple(
            SharedFeature(f, feature_names[f] if feature_names else str(f), int(part) * _STEP)
            for f, part in zip(*ordered, strict=True)
        ),
        voters=base.voters,
        evidence=tuple(EvidencePart(p.name, p.added * _STEP, p.features) for p in sources),
    )


class LinearParts(NamedTuple):
    """What a label's model gives one row, as integers."""

    features: NDArray[np.int32]
    contributions: NDArray[np.int64]
    bias: int


def linear_parts(ranker: Ranker, label: int, query: QuantisedRows) -> LinearParts:
    """Features of the row that the label's model weighs, what each adds, and the bias."""
    bias = int(ranker.biases[label]) if label < ranker.biases.size else 0
    if not has_model(ranker, label):
        return LinearParts(np.zeros(0, np.int32), np.zeros(0, np.int64), bias)
    own = slice(int(ranker.indptr[label]), int(ranker.indptr[label + 1]))
    features, at, within = np.intersect1d(
        query.indices, ranker.features[own], assume_unique=True, return_indices=True
    )
    products = query.quantised[at].astype(np.int64) * ranker.weights[own][within]
    return LinearParts(features, products << ranker.shift, bias)


def has_model(ranker: Ranker, label: int) -> bool:
    """Whether a label has a model: labels that came later have none."""
    return label < ranker.modelled.size and bool(ranker.modelled[label])
