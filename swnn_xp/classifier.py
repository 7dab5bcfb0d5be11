"""`SWNNClassifier`: the whole method behind scikit-learn's interface, without importing it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from array_api_compat import array_namespace

from swnn_xp._estimator import NotFittedError
from swnn_xp._neighbour_estimator import NeighbourEstimator
from swnn_xp.checks import check_count, check_flag, check_part, check_seed, check_threshold
from swnn_xp.learn.calibration import (
    Calibration,
    calibrate_votes,
    fitting_calibration,
    predicted,
    stored_votes,
    votes_from,
)
from swnn_xp.model.changes import compact, covering_rows
from swnn_xp.model.explain import Explanation, explain_label, one_row
from swnn_xp.model.files import Extra, SavedModel
from swnn_xp.model.model import Model, label_id
from swnn_xp.model.predictions import MatrixOf
from swnn_xp.results import RankedProbabilities, Ranking
from swnn_xp.search import in_slots
from swnn_xp.vote import keep_votes, ones, ranked_shares, scores, shares

__all__ = ["GIGABYTE", "NotFittedError", "SWNNClassifier"]

GIGABYTE = 10**9


class SWNNClassifier(NeighbourEstimator):
    """Multi-label classifier by Sparse Weighted Nearest Neighbours.

    The ``n_neighbors`` most similar training rows, by ``Jaccard**beta * cosine``, vote for their
    labels with weight ``similarity**alpha``. There is no training: `fit` builds an index.

    Parameters
    ----------
    n_neighbors : int, default 25
        How many neighbours vote (the paper's S).
    alpha : float, default 1.0
        Exponent of a vote's weight; with 0 every neighbour counts 1.
    beta : float, default 1.0
        Exponent of the Jaccard index; 0 leaves the plain cosine.
    backend : str, default "auto"
        What runs search and vote; see `swnn_xp.backends.BACKENDS`. All give the same answer.
    memory_budget : int, default 10**9
        Bytes that a batch may use for temporaries; queries go in blocks that fit.
    n_jobs : int, default 1
        Threads of a batch, where the backend has threads; -1 means all cores.
    device : optional
        Where the index lives, in the terms of the backend: the number of a CUDA device for cupy, a
        name such as ``"cuda:1"`` for torch, a device object for array-api. Default: where X is.
    allow_narrower : bool, default False
        Take a matrix with fewer columns than at `fit`: the missing ones are the last, all zero.
    calibrate : bool, default False
        Fit probabilities, at `fit`, on the votes for training rows that do not vote themselves, so
        that 0.8 of the labels said to be 0.8 likely are right. The votes' shares alone are too low.
    threshold : float or "f1", default 0.5
        What `predict` predicts: labels whose probability is above it, one half being the paper's
        rule. "f1", with ``calibrate``, takes the share that gave the best micro-F1 on those rows.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    n_labels_ : int
        Number of labels.
    n_samples_fit_ : int
        Number of training rows: appended ones count, removed ones do not.
    label_counts_ : int64 array (n_labels,)
        Number of training rows of each label.
    backend_ : str
        Name of the backend in use: what ``"auto"`` has become.
    feature_weights_ : float64 array (n_features,) or None
        Factors of the features that were given to `fit`.
    feature_names_, label_names_, row_names_ : list of str or None
        Names, as far as they were given.
    feature_names_in_ : array of str
        Names of the features, given or of the columns of a table, which must then have the same
        order in queries. Missing without names.
    feature_space_ : str or None
        Digest of the names of the features.
    classes_ : array
        What the columns of predictions stand for.
    vectorizer_ : TextVectorizer or None
        What turns texts into rows, if the model takes texts.

    Notes
    -----
    All parameters may be changed by `set_params` after `fit` or `load`; they count from the next
    call on. Another ``backend`` or ``device`` moves the model there once, at the next query.

    Examples
    --------
    >>> from swnn_xp import SWNNClassifier
    >>> X = [[1, 1, 0], [0, 1, 1], [1, 0, 0]]
    >>> y = [[1, 0], [0, 1], [1, 0]]
    >>> clf = SWNNClassifier(n_neighbors=2).fit(X, y)
    >>> labels, scores = clf.predict_topk([[1, 1, 0]], k=1)
    >>> labels.tolist()
    [[0]]
    """

    saved_as = "swnn-classifier"

    def __init__(
        self,
        n_neighbors: int = 25,
        alpha: float = 1.0,
        beta: float = 1.0,
        *,
        backend: str = "auto",
        memory_budget: int = GIGABYTE,
        n_jobs: int = 1,
        device: Any = None,
        allow_narrower: bool = False,
        calibrate: bool = False,
        threshold: float | Literal["f1"] = 0.5,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.beta = beta
        self.backend = backend
        self.memory_budget = memory_budget
        self.n_jobs = n_jobs
        self.device = device
        self.allow_narrower = allow_narrower
        self.calibrate = calibrate
        self.threshold = threshold

    def predict_topk(self, X: Any, k: int = 5) -> Ranking:
        """Rank the labels of each row.

        Returns
        -------
        Ranking
            ``labels`` and ``scores``, each (n_queries, k), best first; slots without a label hold
            -1 and score 0.
        """
        return super().predict_topk(X, k)

    def topk_probabilities(self, X: Any, k: int = 5) -> RankedProbabilities:
        """Rank the labels of each row, with the probability that each is right.

        Returns
        -------
        RankedProbabilities
            ``labels``, ``scores`` and ``probabilities``, each (n_queries, k); labels and scores
            are those of `predict_topk`, probabilities those of `predict_proba`.
        """
        model, settings, options = self._current_model(), self._settings(), self._options()
        X = self._same_columns(model, X)
        check_count(k, "k")
        voters = model.n_voters(settings.n_neighbors)
        found = model.search(model.queries(X), voters, settings.beta, options)
        best = model.rank_found(found, settings.alpha, model.n_ranked(int(k)), options)
        likely = ranked_shares(best, found, settings.alpha)
        if (calibration := self._calibration(model)) is not None:
            xp = array_namespace(likely)
            likely = xp.where(best.labels >= 0, calibration.probabilities(likely), 0 * likely)
        whole = in_slots(int(k), *best, likely)
        return RankedProbabilities(*model.placement.as_input_kind(X, *whole))

    def compress(self, keep: float, *, random_state: int = 0) -> Self:
        """Keep a part of the rows, chosen at random but so that rare labels stay.

        Answers are faster and less precise: `SWNNRanker` loses far less. The ids of the rows that
        are kept stay as they are.

        Parameters
        ----------
        keep : float
            Part of the rows to keep, above 0 and at most 1.
        random_state : int
            Seed of the choice.

        Examples
        --------
        >>> from swnn_xp import SWNNClassifier
        >>> clf = SWNNClassifier().fit([[1, 0], [0, 1], [0, 2]], [[1, 0], [0, 1], [0, 1]])
        >>> clf.compress(0.67).n_samples_fit_
        2
        """
        fitted = self._current_model()
        model = compact(fitted)
        check_part(keep, "keep")
        check_seed(random_state)
        removed = np.ones(model.n_positions, bool)
        removed[covering_rows(model.checked_labels, float(keep), int(random_state))] = False
        model = self._learn(compact(replace(model, removed=removed)))
        self._replace_model(fitted, model, "compress")
        return self

    def explain(self, x: Any, label: int | str) -> Explanation:
        """Show which neighbours voted for a label, and which features they share with the row.

        Parameters
        ----------
        x : one row, as a matrix (1, n_features), a 1-D dense array, or a text
        label : int or str
            Label id, or its name if names were given to `fit`.
        """
        model = self._current_model()
        wanted = label_id(label, model.names.get("label_names"), model.labels.n_labels)
        row = self._same_columns(model, one_row(model, x))
        found = explain_label(model, row, wanted, self._settings(), self._options())
        if (calibration := self._calibration(model)) is None:
            return found
        likely = calibration.probabilities(np.asarray(found.probability)).item()
        return replace(found, probability=likely)

    def _learn(self, model: Model) -> Model:
        if not self.calibrate:
            return model
        return replace(model, learned=calibrate_votes(model, self._settings(), self._options()))

    def _calibration(self, model: Model) -> Calibration | None:
        """Map from shares to probabilities, if wanted; ValueError if there is none that fits."""
        return fitting_calibration(model.learned, self._settings()) if self.calibrate else None

    def _check_params(self) -> None:
        super()._check_params()
        check_flag(self.calibrate, "calibrate")
        check_threshold(self.threshold)
        if isinstance(self.threshold, str) and not self.calibrate:
            raise ValueError("threshold='f1' needs calibrate=True")

    def _saved_params(self) -> dict[str, Any]:
        more = {"calibrate": bool(self.calibrate), "threshold": self.threshold}
        return super()._saved_params() | more

    def _extra(self, model: Model) -> Extra:
        return Extra() if model.learned is None else stored_votes(model.learned)

    def _with_extra(self, model: Model, saved: SavedModel) -> Model:
        return replace(model, learned=votes_from(saved))

    def _ranking(self, model: Model, X: Any, k: int) -> Ranking:
        X = self._same_columns(model, X)
        check_count(k, "k")
        wanted = model.n_ranked(int(k))
        best = model.rank(model.queries(X), self._settings(), wanted, self._options())
        return Ranking(*model.placement.as_input_kind(X, *in_slots(int(k), *best)))

    def _matrices(self, model: Model, X: Any, *wanted: MatrixOf) -> tuple[Any, ...]:
        calibration = self._calibration(model)
        votes = model.vote(model.queries(X), self._settings(), self._options())

        def matrix(of: MatrixOf) -> Any:
            kept, values = votes, shares(votes)
            if of == "predicted":
                kept = keep_votes(votes, predicted(values, self.threshold, calibration))
                values = ones(kept)
            elif of == "scores":
                values = scores(votes)
            elif calibration is not None:
                values = calibration.probabilities(values)
            csr = kept.indptr, kept.labels, values
            return model.placement.as_sparse_like(X, *csr, model.labels.n_labels)

        return tuple(map(matrix, wanted))
