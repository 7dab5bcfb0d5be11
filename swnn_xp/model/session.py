"""Real-time answers, one row at a time: a session owns its buffers and one thread uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from swnn_kernels import HybridIndex, Labels
from swnn_kernels import Session as KernelSession
from swnn_kernels import Settings as KernelSettings
from swnn_kernels.background import SEARCHES
from swnn_xp.backends import Options, Settings
from swnn_xp.backends.numba_ import NumbaIndex
from swnn_xp.checks import check_count
from swnn_xp.model.model import Current, Model
from swnn_xp.model.stand_in import StandInSession
from swnn_xp.results import Neighbours, RankedProbabilities, Ranking
from swnn_xp.search import in_slots, merge, padded, shifted
from swnn_xp.vote import one_ranked_shares, rank, ranked_shares, vote


class Session:
    """Answers single rows of a fitted model with little overhead; ``clf.session()`` makes one.

    A call releases the GIL while it computes and allocates nothing that grows with the training
    set: give each thread a session of its own. A session follows the estimator: rows that are
    appended or removed, parameters that change and another `fit` count from the next call on. Until
    `compact` is called, appended rows cost a second search.

    Rows must be given with ascending ids, without repeats; ids out of range, unsorted ids and
    values that are not finite are refused, nothing else is checked.

    With a ``budget`` only that many rows, those that look best, are compared in full. The
    neighbours' similarities are still exact, but better neighbours may be missing: `n_unresolved`
    bounds their number.

    Parameters
    ----------
    current : callable
        Returns the current model and parameters, the same object while they have not changed.
    budget : int, optional
    """

    def __init__(self, current: Callable[[], Current], *, budget: int | None = None) -> None:
        self._current = current
        self._budget = budget
        self._open(current())

    def predict_one(self, indices: Any, values: Any, k: int = 5) -> Ranking:
        """Rank labels for one row.

        Parameters
        ----------
        indices : array of int
            Features, ascending and without repeats.
        values : array of float
            Their values.
        k : int
            How many labels to return.

        Returns
        -------
        Ranking
            ``labels`` and ``scores`` of shape (k,), best first; empty slots hold -1 and 0.

        Examples
        --------
        >>> from swnn_xp import SWNNClassifier
        >>> clf = SWNNClassifier().fit([[1, 0], [0, 1]], [[1, 0], [0, 1]])
        >>> clf.session().predict_one([1], [0.5], k=1).labels.tolist()
        [1]
        """
        self._follow()
        if self._only is not None:  # it checks k itself
            labels, scores = self._only.predict_one(indices, values, k)
            return Ranking(labels, scores)
        check_count(k, "k")
        found = self._merged(indices, values)
        votes = vote(found, self._model.checked_labels, self._settings.alpha)
        best = rank(votes, self._model.n_ranked(k))
        return Ranking(*in_slots(k, best.labels[0], best.scores[0]))

    def topk_probabilities_one(self, indices: Any, values: Any, k: int = 5) -> RankedProbabilities:
        """Rank labels for one row, with the probability that each is right.

        Arguments are those of `predict_one`; ``labels``, ``scores`` and ``probabilities`` have
        shape (k,).
        """
        check_count(k, "k")
        self._follow()
        labels, scores, likely = self._shares_one(indices, values, k)
        if (steps := self._opened.calibration()) is not None:
            likely = np.where(labels >= 0, steps.probabilities(likely), 0.0)
        return RankedProbabilities(*in_slots(k, labels, scores, likely))

    def _shares_one(self, indices: Any, values: Any, k: int) -> tuple[Any, Any, Any]:
        """The best labels of one row with scores and shares of the votes."""
        k, alpha = self._model.n_ranked(k), self._settings.alpha
        if isinstance(self._only, KernelSession):
            labels, scores, sims = self._only.rank_one(indices, values, k)
            return labels, scores, one_ranked_shares(scores, sims, alpha)
        one = self._positions_one(indices, values)
        found = Neighbours(one.similarities[None, :], one.ids[None, :])
        best = self._model.rank_found(found, alpha, k, Options())
        return best.labels[0], best.scores[0], ranked_shares(best, found, alpha)[0]

    def kneighbors_one(self, indices: Any, values: Any) -> Neighbours:
        """Find the neighbours of one row: ``similarities`` and ``ids``, each (n_neighbors,)."""
        self._follow()
        found = self._model.with_ids(self._positions_one(indices, values))
        return padded(found, self._settings.n_neighbors)

    def _positions_one(self, indices: Any, values: Any) -> Neighbours:
        """Neighbours of one row by position; no more than there are rows."""
        if len(self._sessions) == 1:
            ids, sims = self._sessions[0].kneighbors_one(indices, values)
            return Neighbours(sims, ids)
        merged = self._merged(indices, values)
        return Neighbours(merged.similarities[0], merged.ids[0])

    @property
    def n_unresolved(self) -> int:
        """Number of rows that could still beat the last neighbour of the last answer.

        0 without a budget, or where the answer is exact all the same.
        """
        return sum(session.n_unresolved for session in self._sessions)

    def _follow(self) -> None:
        """Use the current model and parameters."""
        current = self._current()
        if current is not self._opened or (self._stands_in and SEARCHES.is_ready()):
            self._open(current)

    def _open(self, current: Current) -> None:
        # Whatever may fail comes before any change: the session still answers from the old model.
        model = current.model
        if not all(isinstance(segment, NumbaIndex) for segment in model.segments):
            raise ValueError(f"a session needs the backend 'numba', not '{model.backend}'")
        voters = model.n_voters(current.settings.n_neighbors)
        settings = current.settings._replace(n_neighbors=voters)
        sessions = [self._session(model, at, settings) for at in range(len(model.segments))]
        self._sessions, self._opened = sessions, current
        self._model, self._settings = model, current.settings
        self._only = sessions[0] if len(sessions) == 1 else None
        self._stands_in = any(isinstance(session, StandInSession) for session in sessions)

    def _session(self, model: Model, at: int, settings: Settings) -> KernelSession | StandInSession:
        """Session of one segment."""
        segment, first, removed = model.segments[at], model.offsets[at], model.removed
        assert isinstance(segment, NumbaIndex)
        if removed is not None:
            removed = removed[first : first + segment.n_rows]
        stand_in = segment.stand_in(settings) if self._budget is None else None
        weights = model.feature_weights
        if stand_in is not None:
            return StandInSession(stand_in, model.checked_labels, settings, removed, weights)
        options = {"removed": removed, "budget": self._budget, "feature_weights": weights}
        return self._kernel_session(
            segment.kernel_index, model, KernelSettings(*settings), **options
        )

    def _kernel_session(
        self, index: HybridIndex, model: Model, settings: KernelSettings, **options: Any
    ) -> KernelSession:
        return KernelSession(index, _kernel_labels(model, index.n_rows), settings, **options)

    def _merged(self, indices: Any, values: Any) -> Neighbours:
        """Neighbours by position out of all segments, as a batch of one query."""
        merged: Neighbours | None = None
        for offset, session in zip(self._model.offsets, self._sessions, strict=True):
            ids, sims = session.kneighbors_one(indices, values)
            found = shifted(Neighbours(sims[None, :], ids[None, :]), offset)
            merged = found if merged is None else merge(merged, found, found.ids.shape[1])
        assert merged is not None
        return merged


def _kernel_labels(model: Model, n_rows: int) -> Labels:
    """Labels for the session of a segment: none where `Session` lets merged neighbours vote."""
    if len(model.segments) == 1:
        prepared: Labels = model.placed_labels.prepared
        return prepared
    _ = model.checked_labels  # damaged labels are refused now, not by a later answer
    return Labels.prepare(np.zeros(n_rows + 1, np.int64), np.zeros(0, np.int32))
