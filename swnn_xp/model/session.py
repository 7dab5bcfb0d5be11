"""Real-time answers, one row at a time: a session owns its buffers and one thread uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from swnn_kernels import Labels
from swnn_kernels import Session as KernelSession
from swnn_kernels.answer.joined import JoinedSessions
from swnn_kernels.records import Cap
from swnn_xp.backends.numba_ import NumbaIndex
from swnn_xp.capped import Shortlist, best_of, merge_shortlists, shifted_shortlist
from swnn_xp.checks import check_count
from swnn_xp.model.model import Model
from swnn_xp.results import Neighbours, RankedProbabilities, Ranking
from swnn_xp.search import pad_to, padded


class Session:
    """Answers single rows of a fitted model with little overhead; ``clf.session()`` makes one.

    A call releases the GIL while it computes and allocates nothing that grows with the training
    set: give each thread a session of its own. A session follows the estimator: rows that are
    appended or removed, parameters that change and another `fit` count from the next call on. Until
    `compact` is called, appended rows cost a search of their own, which is short.

    Rows must be given with ascending ids, without repeats; ids out of range, unsorted ids and
    values that are not finite are refused, nothing else is checked.

    With ``postings``, neighbours are searched within that cap. Their similarities are still exact,
    but better neighbours may be missing.

    Parameters
    ----------
    current : callable
        Returns the current model, the same object while neither it nor a parameter has changed.
    postings : int, optional
        None: the cap that the model was trained with, if any.
    """

    def __init__(self, current: Callable[[], Model], *, postings: int | None = None) -> None:
        if postings is not None:
            check_count(postings, "postings")
        self._current = current
        self._postings = postings
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
        self._use_current_model()
        if self._single_session is not None:  # it checks k, too
            return Ranking(*self._single_session.predict_one(indices, values, k))
        check_count(k, "k")
        found = self._find_one(indices, values)
        best = self._rank_one(indices, values, found, self._model.n_ranked(k))
        return Ranking(*pad_to(k, *best))

    def topk_probabilities_one(self, indices: Any, values: Any, k: int = 5) -> RankedProbabilities:
        """Rank labels for one row, with the probability that each is right.

        Arguments are those of `predict_one`; ``labels``, ``scores`` and ``probabilities`` have
        shape (k,).
        """
        check_count(k, "k")
        self._use_current_model()
        wanted = self._model.n_ranked(k)
        if self._single_session is not None:
            labels, scores, similarities = self._single_session.rank_one(indices, values, wanted)
        else:
            found = self._find_one(indices, values)
            labels, scores = self._rank_one(indices, values, found, wanted)
            similarities = found.similarities
        likely = self._model.ranking.probabilities_one(scores, similarities)
        if labels[-1] < 0:  # some slots are empty
            likely = np.where(labels >= 0, likely, 0.0)
        if wanted < k:
            labels, scores, likely = pad_to(k, labels, scores, likely)
        return RankedProbabilities(labels, scores, likely)

    def kneighbors_one(self, indices: Any, values: Any) -> Neighbours:
        """Find the neighbours of one row: ``similarities`` and ``ids``, each (n_neighbors,)."""
        self._use_current_model()
        found = self._model.with_ids(self._find_one(indices, values))
        return padded(found, self._model.ranking.settings.n_neighbors)

    def _find_one(self, indices: Any, values: Any) -> Neighbours:
        """Neighbours of one row by position, out of all segments; no more than there are rows."""
        if self._cap is not None and self._single_session is None:
            return self._find_one_capped(indices, values, self._cap)
        ids, sims = self._searches.kneighbors_one(indices, values)
        return Neighbours(sims, ids)

    def _find_one_capped(self, indices: Any, values: Any, cap: Cap) -> Neighbours:
        merged: Shortlist | None = None
        for offset, session in zip(self._model.offsets, self._sessions, strict=True):
            some = Shortlist(*(part[None, :] for part in session.shortlist_one(indices, values)))
            some = shifted_shortlist(some, offset)
            merged = some if merged is None else merge_shortlists(merged, some, cap.n_rescored)
        assert merged is not None
        S = self._model.n_voters(self._model.ranking.settings.n_neighbors)
        found = best_of(merged, S)
        return Neighbours(found.similarities[0], found.ids[0])

    def _use_current_model(self) -> None:
        """Use the current model."""
        current = self._current()
        if current is not self._model:
            self._open(current)

    def _open(self, model: Model) -> None:
        # Whatever may fail comes before any change: the session still answers from the old model.
        if not all(isinstance(segment, NumbaIndex) for segment in model.segments):
            raise ValueError(f"a session needs the backend 'numba', not '{model.backend}'")
        is_whole = len(model.segments) == 1
        postings = self._postings or model.ranking.postings
        S = model.n_voters(model.ranking.settings.n_neighbors)
        cap = model.cap(postings, S) if postings else None
        sessions = [self._segment_session(model, at, cap) for at in range(len(model.segments))]
        rank_one = None if is_whole else model.ranking.row_ranker(model)
        self._sessions, self._model, self._cap = sessions, model, cap
        self._single_session = sessions[0] if is_whole else None
        self._searches = sessions[0] if is_whole else JoinedSessions(sessions, model.offsets)
        self._rank_one: Any = rank_one

    def _segment_session(self, model: Model, at: int, cap: Cap | None) -> Any:
        """Open a session of one segment; it ranks labels if there is no other segment."""
        index, first, removed = model.segments[at].kernel_index, model.offsets[at], model.removed
        if removed is not None:
            removed = removed[first : first + index.n_rows]
        options: dict[str, Any] = {
            "removed": removed, "cap": cap, "feature_weights": model.feature_weights,
        }  # fmt: skip
        settings = model.ranking.settings
        settings = settings._replace(n_neighbors=model.n_voters(settings.n_neighbors))
        if len(model.segments) == 1:
            return model.ranking.kernel_session(model, index, settings, **options)
        _ = model.checked_labels  # damaged labels are refused now, not by a later answer
        none = Labels.prepare(np.zeros(index.n_rows + 1, np.int64), np.zeros(0, np.int32))
        return KernelSession(index, none, settings, **options)
