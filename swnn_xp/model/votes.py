"""Labels ranked by the votes of the neighbours, as published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from swnn_xp.backends import Options, Settings
from swnn_xp.backends.index import host_search
from swnn_xp.model.calibration import (
    Calibration,
    HeldOutScores,
    calibration_from,
    chosen_rows,
    fit_calibration,
    predicted,
    stored_calibration,
)
from swnn_xp.model.explain import Explanation, explain_votes
from swnn_xp.model.files import SavedModel
from swnn_xp.model.model import CSR, Extra, LabelRanking, MatrixOf, Model, Queries, RowRanker
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.input_kind import host_array, host_rows
from swnn_xp.rows.records import Array, LabelRows, take_rows
from swnn_xp.search import without_self
from swnn_xp.store import StoreError
from swnn_xp.vote import (
    keep_votes,
    one_ranked_shares,
    ranked_shares,
    vote,
    vote_ones,
    vote_scores,
    vote_shares,
)

_BLOCK = 1024
_SEED = 0


@dataclass(frozen=True, eq=False)
class CalibratedVotes:
    """A map from shares to probabilities, and the settings whose votes it was fitted on."""

    calibration: Calibration | None
    """None where there were too few rows."""
    settings: Settings


@dataclass(frozen=True, eq=False)
class VoteRanking(LabelRanking):
    """Every neighbour votes for its labels with weight ``similarity**alpha``."""

    settings: Settings
    calibrate: bool = False
    """Whether probabilities are calibrated; otherwise they are shares of the votes."""
    calibrated: CalibratedVotes | None = None
    """What was fitted for it; None if it never was."""

    @property
    def calibration(self) -> Calibration | None:
        """Map from shares to probabilities, if wanted; ValueError if there is none that fits."""
        if not self.calibrate:
            return None
        if self.calibrated is None:
            raise ValueError("the model was fitted without calibrate=True: call fit again")
        if self.calibrated.settings != self.settings:
            found = self.calibrated.settings
            raise ValueError(f"the model was calibrated for {found}: call fit again")
        return self.calibrated.calibration

    def rank(self, model: Model, queries: Queries, k: int, options: Options) -> Ranking:
        """Rank labels; a backend may search and vote in one call."""
        if len(model.segments) > 1:
            return super().rank(model, queries, k, options)
        settings = self.settings._replace(n_neighbors=model.n_voters(self.settings.n_neighbors))
        (segment,), (removed,), labels = model.segments, model.placed_removed, model.placed_labels
        return segment.rank(queries.scaled, labels, settings, k, removed, options)

    def rank_found(
        self, model: Model, queries: Queries, found: Neighbours, k: int, options: Options
    ) -> Ranking:
        """Rank labels by the votes of given neighbours."""
        labels = model.placed_labels
        return model.segments[0].rank_found(found, labels, self.settings.alpha, k, options)

    def probabilities(self, best: Ranking, found: Neighbours) -> Array:
        """Share of the votes of each ranked label, or what that share has meant."""
        likely = ranked_shares(best, found, self.settings.alpha)
        if (calibration := self.calibration) is None:
            return likely
        xp = array_namespace(likely)
        return xp.where(best.labels >= 0, calibration.probabilities(likely), 0 * likely)

    def matrices(
        self,
        model: Model,
        queries: Queries,
        wanted: Sequence[MatrixOf],
        threshold: float | str,
        options: Options,
    ) -> list[CSR]:
        """Scores or probabilities of all labels with a vote, or those above the threshold."""
        labels = model.placed_labels  # before the search: damaged labels are refused first
        calibration, found = self.calibration, self.find(model, queries, options)
        votes = model.segments[0].vote_found(found, labels, self.settings.alpha, options)

        def matrix(of: MatrixOf) -> CSR:
            kept, values = votes, vote_shares(votes)
            if of == "predicted":
                kept = keep_votes(votes, predicted(values, threshold, calibration))
                values = vote_ones(kept)
            elif of == "scores":
                values = vote_scores(votes)
            elif calibration is not None:
                values = calibration.probabilities(values)
            return kept.indptr, kept.labels, values

        return [matrix(of) for of in wanted]

    def explain(self, model: Model, queries: Queries, label: int, options: Options) -> Explanation:
        """Explain one label of the only query by its votes."""
        found = Neighbours(*map(host_array, self.find(model, queries, options)))
        query = host_rows(queries.scaled)
        explained = explain_votes(model, query, found, label, self.settings.alpha)
        if (calibration := self.calibration) is None:
            return explained
        likely = calibration.probabilities(np.asarray(explained.probability)).item()
        return replace(explained, probability=likely)

    def kernel_session(self, model: Model, index: Any, settings: Settings, **options: Any) -> Any:
        """Open a session of the kernels that searches and votes in one call."""
        from swnn_kernels import Session

        return Session(index, model.placed_labels.prepared, settings, **options)

    def row_ranker(self, model: Model) -> RowRanker:
        """Let neighbours from several segments vote."""
        from swnn_kernels.vote import Voter

        n_voters = model.n_voters(self.settings.n_neighbors)
        voter = Voter(model.placed_labels.prepared, n_voters, self.settings.alpha)

        def rank_one(indices: Any, values: Any, found: Neighbours, k: int) -> Ranking:
            return Ranking(*voter.rank_one(found.ids, found.similarities, k))

        return rank_one

    def probabilities_one(self, scores: Any, similarities: Any) -> Any:
        """Share of the votes of each ranked label, or what that share has meant."""
        likely = one_ranked_shares(scores, similarities, self.settings.alpha)
        if (calibration := self.calibration) is None:
            return likely
        return calibration.probabilities(likely)

    def check(self) -> None:
        """Raise ValueError if the calibration can't be one."""
        if self.calibrated is not None and self.calibrated.calibration is not None:
            self.calibrated.calibration.check()

    def stored(self) -> Extra:
        """Arrays and numbers that a saved model keeps."""
        if self.calibrated is None:
            return Extra()
        meta = {"calibrated_for": dict(self.calibrated.settings._asdict())}
        if self.calibrated.calibration is None:
            return Extra({}, meta)
        arrays, more = stored_calibration(self.calibrated.calibration)
        return Extra(arrays, meta | dict(more))

    @classmethod
    def from_saved(cls, saved: SavedModel, settings: Settings, calibrate: bool) -> VoteRanking:
        """Read back what `stored` gave; StoreError if it can't be that."""
        if "calibrated_for" not in saved.extra.meta:
            return cls(settings, calibrate)
        try:
            known: dict[str, Any] = saved.extra.meta["calibrated_for"]
            fitted = Settings(
                int(known["n_neighbors"]), float(known["alpha"]), float(known["beta"])
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise StoreError(
                saved.path, f"manifest.json: missing or invalid field {error}"
            ) from error
        return cls(settings, calibrate, CalibratedVotes(calibration_from(saved), fitted))


def calibrate_votes(model: Model, settings: Settings, options: Options) -> CalibratedVotes:
    """Fit a map on the votes for at most 10,000 training rows, each without its own vote."""
    rows, labels = model.rows(), model.checked_labels
    search = host_search(model.segments[0], model.placement, options)
    parts = []
    chosen = chosen_rows(rows.n_rows, 1.0, _SEED)
    for first in range(0, chosen.size, _BLOCK):
        own = chosen[first : first + _BLOCK]
        found = search(take_rows(rows, own), settings.n_neighbors + 1, settings.beta)
        parts.append(
            _held_out(without_self(found, own, settings.n_neighbors), own, labels, settings)
        )
    rows_of, labels_of, scores, right = (
        np.concatenate([part[i] for part in parts]) for i in range(4)
    )
    n_positives = sum(part.n_positives for part in parts)
    held_out = HeldOutScores(rows_of, labels_of, scores, right, n_positives)
    return CalibratedVotes(fit_calibration(held_out), settings)


def _held_out(
    found: Neighbours, own: NDArray[np.int64], labels: LabelRows, settings: Settings
) -> HeldOutScores:
    votes, truth = vote(found, labels, settings.alpha), take_rows(labels, own)
    rows, numbers = _pairs(votes.indptr, votes.labels, labels.n_labels)
    _, true = _pairs(truth.indptr, truth.indices, labels.n_labels)
    right = np.isin(numbers, true)
    return HeldOutScores(own[rows], votes.labels, vote_shares(votes), right, true.size)


def _pairs(
    indptr: NDArray[np.int64], labels: NDArray[Any], n_labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row of each label, and one number for row and label."""
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    return rows, rows * n_labels + labels
