"""Real-time answers, one row at a time: a session owns its buffers and one thread uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swnn_kernels import Labels, Settings
from swnn_kernels import Session as KernelSession
from swnn_xp._types import Neighbours, Ranking
from swnn_xp.backends._segmented import SegmentedIndex
from swnn_xp.backends.numba_ import NumbaIndex
from swnn_xp.live import Model
from swnn_xp.search import merge
from swnn_xp.vote import rank, vote

if TYPE_CHECKING:
    from swnn_xp.classifier import SWNNClassifier


class Session:
    """Answers single rows of a fitted classifier with little overhead; made by `clf.session()`.

    A call releases the GIL while it computes and allocates nothing that grows with the training
    set: give each thread a session of its own. The parameters are those the classifier had when
    the session was made. Rows that are appended or removed later count from the next call on;
    until `compact` is called, appended rows cost a second search.

    Rows must be given with ascending ids, without repeats; ids out of range, unsorted ids and
    values that are not finite are refused, nothing else is checked.

    With a ``budget`` only so many rows that look best are compared in full. The neighbours'
    similarities are still exact, but better neighbours may be missing: `might` bounds their number.
    """

    def __init__(self, clf: SWNNClassifier, *, budget: int | None = None) -> None:
        parts = _parts(clf.model_)
        if not all(isinstance(part, NumbaIndex) for part in parts):
            raise ValueError(f"a session needs the backend 'numba', not '{clf.index_.backend}'")
        self._clf = clf
        self._budget = budget
        self._params = int(clf.n_neighbors), float(clf.alpha), float(clf.beta)
        self._open(clf.model_)

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
            ``labels`` and ``scores`` of shape (k,), best first; missing places hold -1 and 0.

        Examples
        --------
        >>> from swnn_xp import SWNNClassifier
        >>> clf = SWNNClassifier().fit([[1, 0], [0, 1]], [[1, 0], [0, 1]])
        >>> clf.session().predict_one([1], [0.5], k=1).labels.tolist()
        [1]
        """
        if self._clf.model_ is not self._model:
            self._open(self._clf.model_)
        if len(self._sessions) == 1:
            return Ranking(*self._sessions[0].predict_one(indices, values, k))
        found = self._merged(indices, values)
        best = rank(vote(found, self._model.voting_labels, self._params[1]), k)
        return Ranking(best.labels[0], best.scores[0])

    def kneighbors_one(self, indices: Any, values: Any) -> Neighbours:
        """Find the neighbours of one row: ``ids`` and ``sims`` of shape (n_neighbors,)."""
        if self._clf.model_ is not self._model:
            self._open(self._clf.model_)
        found = self._model.with_ids(self._merged(indices, values))
        return Neighbours(found.ids[0], found.sims[0])

    @property
    def might(self) -> int:
        """Number of rows that could still beat the last neighbour of the last answer.

        0 without a budget, or where the answer is exact all the same.
        """
        return sum(session.n_unresolved for session in self._sessions)

    def _open(self, model: Model) -> None:
        self._sessions, self._firsts = [], []
        first = 0
        for part in _parts(model):
            here = slice(first, first + part.n_rows)
            dead = None if model.dead is None else np.ascontiguousarray(model.dead[here])
            indptr = model.labels.indptr[first : first + part.n_rows + 1]
            self._sessions.append(
                KernelSession(
                    part.inverted,
                    Labels.prepare(
                        indptr - indptr[0] if first else indptr,
                        model.voting_labels.indices[indptr[0] : indptr[-1]],
                    ),
                    Settings(*self._params),
                    removed=dead,
                    budget=self._budget,
                )
            )
            self._firsts.append(first)
            first += part.n_rows
        self._model = model

    def _merged(self, indices: Any, values: Any) -> Neighbours:
        merged: Neighbours | None = None
        for first, session in zip(self._firsts, self._sessions, strict=True):
            ids, sims = session.kneighbors_one(indices, values)
            found = Neighbours(np.where(ids >= 0, ids + first, -1)[None, :], sims[None, :])
            merged = found if merged is None else merge(merged, found, self._params[0])
        assert merged is not None
        return merged


def _parts(model: Model) -> list[Any]:
    index = model.index
    return list(index.parts) if isinstance(index, SegmentedIndex) else [index]
