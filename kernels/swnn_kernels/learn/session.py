"""Ranking one raw query at a time: after its neighbours are known, or with the search for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from swnn_kernels.answer.kernels import RawQuery
from swnn_kernels.answer.session import Session
from swnn_kernels.index.hybrid import HybridIndex
from swnn_kernels.learn.candidates import Selection
from swnn_kernels.learn.evidence import Evidence, listed_buffers
from swnn_kernels.learn.rank import Pair, ThreadBuffers
from swnn_kernels.learn.scorer import Scorer
from swnn_kernels.records import Settings, check_k
from swnn_kernels.vote import Labels

Model = tuple[Labels, Scorer, Selection]
Lister = Callable[[np.ndarray, np.ndarray, Evidence], None]
"""Fills what a source lists for the features and values of a raw query that was accepted."""


class _BoundRanking:
    """The ranking kernel, bound to the buffers of a query, its neighbours and its answer."""

    def __init__(
        self, model: Model, listers: Sequence[Lister], k: int, raw: Pair, found: Pair
    ) -> None:
        self.best = np.empty(k, np.int64), np.empty(k)
        listed, parts = listed_buffers(model[2].sources)
        self._raw, self._sources = raw, list(zip(listers, parts, strict=True))
        self._rank = ThreadBuffers(*model, k, raw[0].size).bind_raw(raw, found, listed, self.best)

    def rank(self, size: int) -> None:
        """Rank the query of that size."""
        for fill, own in self._sources:
            fill(self._raw[0][:size], self._raw[1][:size], own)
        self._rank(size)

    def answer(self, k: int) -> Pair:
        """Copy the first k labels and scores of the last answer."""
        labels, scores = self.best
        if k < labels.shape[0]:
            labels, scores = labels[:k], scores[:k]
        return labels.copy(), scores.copy()


class CandidateRanker:
    """Ranks single raw queries whose neighbours are known; use one for each thread.

    Parameters
    ----------
    labels : Labels
    scorer : Scorer
    selection : Selection
    listers : sequence of callables
        One for each of the selection's sources.
    """

    def __init__(
        self,
        labels: Labels,
        scorer: Scorer,
        selection: Selection,
        listers: Sequence[Lister] = (),
    ) -> None:
        self._model, self._listers = (labels, scorer, selection), listers
        self._bind(5, min(1024, scorer.n_features))

    def _bind(self, k: int, longest: int) -> None:
        # Whatever may fail for lack of memory comes before any change.
        raw = np.zeros(longest, np.int64), np.zeros(longest)
        labels, _, selection = self._model
        most = min(selection.cuts[-1], labels.n_rows)  # a forged model may ask for any number
        found = np.full(most, -1), np.zeros(most)
        self._bound = _BoundRanking(self._model, self._listers, k, raw, found)
        self._raw, self._found = raw, found

    def rank_one(
        self, indices: np.ndarray, values: np.ndarray, found: Pair, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rank the candidates of one raw query that `Session.kneighbors_one` has accepted.

        Parameters
        ----------
        indices, values : arrays of int and float
            Features, ascending and without repeats, and their values.
        found : ids, sims
            Its neighbours by row of ``labels``, (n_neighbors,).
        k : int

        Returns
        -------
        labels, scores : arrays of int64 and float64, (k,)
            Best first; missing labels are -1 and 0.
        """
        k, size, held = check_k(k), np.size(indices), self._found[0].size
        if size > self._raw[0].size or k > self._bound.best[0].size:
            longest = max(self._raw[0].size, 2 * size)
            self._bind(max(k, self._bound.best[0].size), longest)
        self._raw[0][:size], self._raw[1][:size] = indices, values
        given = min(held, found[0].size)
        self._found[0][:given], self._found[1][:given] = found[0][:given], found[1][:given]
        self._found[0][given:] = -1
        self._bound.rank(size)
        return self._bound.answer(k)


class RankingSession(Session):
    """A `Session` whose labels are ranked: the search and the ranking share their buffers.

    Parameters
    ----------
    index : HybridIndex
        The training rows, scaled by ``feature_weights``.
    model : labels, scorer, selection
        Labels of the rows, label models, and how neighbours become candidates.
    settings : Settings
    listers : sequence of callables
        One for each of the selection's sources.
    **options
        Those of `Session`.
    """

    def __init__(
        self,
        index: HybridIndex,
        model: Model,
        settings: Settings,
        listers: Sequence[Lister] = (),
        **options: Any,
    ) -> None:
        self._model, self._listers = model, listers
        super().__init__(index, model[0], settings, **options)

    def _bind_ranking(self, k: int, raw: RawQuery, found: Pair) -> _BoundRanking:
        """The ranking of what the search finds."""
        return _BoundRanking(self._model, self._listers, k, (raw.indices, raw.values), found)

    def predict_one(
        self, indices: np.ndarray, values: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rank labels for one query; arguments and result are those of `Session.predict_one`."""
        k = check_k(k)
        size = self._copy(indices, values, k)
        self._run(0, size)
        self._bound.rank(size)
        return self._bound.answer(k)

    def rank_one(
        self, indices: np.ndarray, values: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rank labels as `predict_one` does; also the neighbours' similarities, until the next."""
        labels, scores = self.predict_one(indices, values, k)
        return labels, scores, self._searcher.buffers.sims
