"""Real-time answers of a ranked model, one row at a time."""

from __future__ import annotations

from typing import Any

from swnn_kernels import HybridIndex
from swnn_kernels import Session as KernelSession
from swnn_kernels import Settings as KernelSettings
from swnn_kernels.learn.session import CandidateRanker
from swnn_kernels.learn.session import RankingSession as KernelRankingSession
from swnn_kernels.vote import Labels
from swnn_xp.backends.numba_ import KernelLabels
from swnn_xp.checks import check_count
from swnn_xp.learn.calibration import probability, with_probabilities
from swnn_xp.model.model import Current, Model
from swnn_xp.model.session import Session
from swnn_xp.results import RankedProbabilities, Ranking


class RankingSession(Session):
    """A `Session` whose labels are ranked; neighbours are those of the scaled rows."""

    def predict_one(self, indices: Any, values: Any, k: int = 5) -> Ranking:
        """Rank labels for one row; arguments and result are those of `Session.predict_one`."""
        self._follow()
        if isinstance(self._only, KernelRankingSession):  # it checks k itself
            return Ranking(*self._only.predict_one(indices, values, k))
        check_count(k, "k")
        found = self._positions_one(indices, values)
        return Ranking(*self._ranker.rank_one(indices, values, (found.ids, found.similarities), k))

    def topk_probabilities_one(self, indices: Any, values: Any, k: int = 5) -> RankedProbabilities:
        """Rank labels for one row, with the probability that each is right."""
        best = self.predict_one(indices, values, k)
        calibration = self._model.learned.calibration
        if best.labels[-1] < 0:  # some slots are empty
            return with_probabilities(best, calibration)
        return RankedProbabilities(*best, probability(best.scores, calibration))

    def _kernel_session(
        self, index: HybridIndex, model: Model, settings: KernelSettings, **options: Any
    ) -> KernelSession:
        if len(model.segments) > 1:
            return super()._kernel_session(index, model, settings, **options)
        learned = model.learned
        parts = model.placed_labels.prepared, learned.scorer, learned.selection
        return KernelRankingSession(index, parts, settings, **options)

    def _open(self, current: Current) -> None:
        placed, learned = current.model.placed_labels, current.model.learned
        if isinstance(placed, KernelLabels):
            labels: Labels = placed.prepared
            ranker = CandidateRanker(labels, learned.scorer, learned.selection)
            super()._open(current)
            self._ranker = ranker
        else:
            super()._open(current)  # says which backend it needs
