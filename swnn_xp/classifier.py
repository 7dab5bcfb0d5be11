"""`SWNNClassifier`: the method as published, behind scikit-learn's interface."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from swnn_xp.backends import Settings, resolve
from swnn_xp.checks import (
    check_count,
    check_exponent,
    check_feature_weights,
    check_flag,
    check_part,
    check_seed,
    check_threshold,
    to_python_scalar,
)
from swnn_xp.estimator import GIGABYTE, NeighbourEstimator
from swnn_xp.model.changes import compact, covering_rows, new_model
from swnn_xp.model.explain import Explanation
from swnn_xp.model.files import SavedModel
from swnn_xp.model.model import LabelRanking, Model
from swnn_xp.model.votes import VoteRanking, calibrate_votes
from swnn_xp.rows.records import LabelRows, QuantisedRows


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
        Take a matrix with fewer columns than at `fit`, of features or (`partial_fit`) of labels:
        the missing ones are the last, all zero.
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
        Name of the backend in use: the choice where ``"auto"`` was given.
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
    answer_params = ("n_neighbors", "alpha", "beta", "backend", "device", "calibrate")

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

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        *,
        feature_names: list[str] | None = None,
        label_names: list[str] | None = None,
        row_names: list[str] | None = None,
        feature_weights: Any = None,
        vectorizer: Any = None,
    ) -> Self:
        """Index the training rows.

        Parameters
        ----------
        X : sparse or dense matrix (n_rows, n_features), or texts
        y : labels of the rows
            A sparse or dense 0/1 matrix (n_rows, n_labels); or a list of labels for each row; or,
            in one dimension, one class for each row. Predictions come back in the same form.
        feature_names, label_names, row_names : list of str, optional
            Names for people, used by `explain` and the command line. Labels that are texts name
            themselves.
        feature_weights : array of float (n_features,), optional
            Positive factors of the features, such as `LearnedWeights` finds: rows and queries are
            scaled by them before they are compared. The model keeps them.
        vectorizer : TfidfVectorizer or TextVectorizer, optional
            What turned, or is to turn, texts into the rows X, which may be a list of texts. The
            model keeps it and takes texts from then on; its terms are the feature names. Texts
            without one are turned into rows as ``swnn fit --text`` does: by
            ``TfidfVectorizer(sublinear_tf=True)``.

        Returns
        -------
        self
        """
        weights = check_feature_weights(feature_weights)
        data = self._training_data(
            X, y, feature_names=feature_names, label_names=label_names, row_names=row_names,
            vectorizer=vectorizer,
        )  # fmt: skip
        if weights is not None and weights.size != data.rows.n_features:
            raise ValueError(
                f"feature_weights has {weights.size} weights, "
                f"but X has {data.rows.n_features} features"
            )
        rows = data.placement.quantise(data.rows, weights)
        model = new_model(data.index_class, data.placement, rows, data.labels, data.names)
        model = replace(
            model, feature_weights=weights, vectorizer=data.vectorizer, targets=data.targets
        )
        self._set_model(self._ranked_by_votes(model))
        return self

    @classmethod
    def from_rows(
        cls, rows: QuantisedRows, labels: LabelRows, feature_weights: Any = None, **params: Any
    ) -> Self:
        """Index rows on the host that are quantised already, scaled by the feature weights."""
        made = cls(**params)
        made.check_params()
        backend = resolve(made.backend, rows.quantised)
        index_class = backend.load()
        placement = index_class.placement.find(backend.name, made.device)
        model = new_model(index_class, placement, rows, labels)
        model = replace(model, feature_weights=feature_weights)
        return made.with_model(made._ranked_by_votes(model))

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
        fitted = self.current_model()
        model = compact(fitted)
        check_part(keep, "keep")
        check_seed(random_state)
        removed = np.ones(model.n_positions, bool)
        removed[covering_rows(model.checked_labels, float(keep), int(random_state))] = False
        model = self._ranked_by_votes(compact(replace(model, removed=removed)))
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
        explanation: Explanation = self._explained(x, label)
        return explanation

    def check_params(self) -> None:
        """Raise ValueError if a parameter has a value that it can't have."""
        check_count(self.n_neighbors, "n_neighbors")
        check_exponent(self.alpha, "alpha")
        check_exponent(self.beta, "beta")
        self._check_execution_params()
        check_flag(self.calibrate, "calibrate")
        check_threshold(self.threshold)
        if isinstance(self.threshold, str) and not self.calibrate:
            raise ValueError("threshold='f1' needs calibrate=True")

    def saved_params(self, model: Model) -> dict[str, Any]:
        """Parameters that a saved model keeps, of types that JSON has."""
        more = {"calibrate": bool(self.calibrate), "threshold": to_python_scalar(self.threshold)}
        return self.settings._asdict() | more

    @property
    def settings(self) -> Settings:
        """The parameters of the method."""
        return Settings(int(self.n_neighbors), float(self.alpha), float(self.beta))

    def _ranked_by_votes(self, model: Model) -> Model:
        """Rank by votes, calibrated if that is wanted."""
        settings, calibrated = self.settings, None
        if self.calibrate:
            calibrated = calibrate_votes(model, settings, self.options)
        return replace(model, ranking=VoteRanking(settings, bool(self.calibrate), calibrated))

    def _current_ranking(self, model: Model) -> LabelRanking:
        assert isinstance(model.ranking, VoteRanking)
        settings, calibrate = self.settings, bool(self.calibrate)
        if (model.ranking.settings, model.ranking.calibrate) == (settings, calibrate):
            return model.ranking
        return replace(model.ranking, settings=settings, calibrate=calibrate)

    def _saved_ranking(self, saved: SavedModel, model: Model) -> LabelRanking:
        return VoteRanking.from_saved(saved, self.settings, bool(self.calibrate))
