"""What estimators predict, in the form in which the labels were given to `fit`."""

from __future__ import annotations

from typing import Any

import numpy as np

from swnn_xp._fitted_estimator import FittedEstimator
from swnn_xp.checks import check_count
from swnn_xp.metrics import precision_at_k
from swnn_xp.model.model import Model
from swnn_xp.model.predictions import (
    MatrixOf,
    as_given,
    best_classes,
    chosen_as_given,
    class_probabilities,
    class_scores,
)
from swnn_xp.model.targets import encode_more, label_matrix, texts
from swnn_xp.results import Ranking
from swnn_xp.rows.input_kind import host_matrix


class PredictingEstimator(FittedEstimator):
    """Predictions from a ranking and from sparse matrices, which a subclass computes.

    Every method takes the current model once and uses it to the end: another thread may replace it
    meanwhile, by one with other labels.
    """

    def predict_topk(self, X: Any, k: int = 5) -> Ranking:
        """Rank the labels of each row."""
        return self._ranking(self._current_model(), X, k)

    def predict_names(self, X: Any, k: int = 5) -> list[list[str]]:
        """Name the best labels of each row, the best first.

        A row has fewer than k names where fewer labels got a vote.

        Examples
        --------
        >>> from swnn_xp import SWNNClassifier
        >>> clf = SWNNClassifier().fit([[1, 0], [0, 1]], [[1, 0], [0, 1]], label_names=["a", "b"])
        >>> clf.predict_names([[2, 0], [0, 0]], k=2)
        [['a'], []]
        """
        model = self._current_model()
        names = model.names.get("label_names") or texts(model.targets.values)
        if names is None:
            raise ValueError("the model has no label names: give label_names to fit")
        check_count(k, "k")
        best = host_matrix(self._ranking(model, X, model.n_ranked(int(k))).labels)
        return [[names[label] for label in row if label >= 0] for row in best.tolist()]

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of labels, as a matrix (n_queries, n_labels) of X's library.

        Sparse, or dense if y was dense at `fit`; always dense for array-API namespaces other than
        CuPy and torch, which have no sparse matrices. `SWNNClassifier`: the share of the
        neighbours' weight that voted for a label; with ``calibrate``, what that share has meant for
        training rows. `SWNNRanker`: calibrated, for candidates.

        After a `fit` with one class per row: a NumPy array whose rows add up to 1. A row without
        neighbours gets the share of each class among the training rows. The likeliest class is
        always that of `predict`: where calibration makes classes equally likely, the better scored
        one is nudged ahead.
        """
        model = self._current_model()
        X = self._same_columns(model, X)
        if model.targets.form == "classes":
            return class_probabilities(model, *self._matrices(model, X, "scores", "probabilities"))
        return as_given(model, *self._matrices(model, X, "probabilities"))

    def decision_function(self, X: Any) -> Any:
        """Scores of labels that got a vote or are candidates, as a matrix like `predict_proba`'s.

        `SWNNClassifier`: the votes. `SWNNRanker`: a score s becomes ``1 + s`` from 0 on and
        ``1 / (1 - s)`` below, so that the order stays and labels that are no candidates (0) come
        last. After a `fit` with two classes, one for each row: how much more likely the second is.
        """
        model = self._current_model()
        X = self._same_columns(model, X)
        if model.targets.form != "classes":
            return as_given(model, *self._matrices(model, X, "scores"))
        if model.labels.n_labels != 2:
            return class_scores(model, *self._matrices(model, X, "scores"))
        # scikit-learn wants one figure for two classes, in the order of the probabilities.
        likely = class_probabilities(model, *self._matrices(model, X, "scores", "probabilities"))
        return likely[:, 1] - likely[:, 0]

    def predict(self, X: Any) -> Any:
        """Labels whose probability passes the ``threshold``, in the form that y had at `fit`.

        A sparse or dense 0/1 matrix, or a list of labels for each row. After a `fit` with one class
        per row: the best class of each row, and the most frequent one where it has no neighbours.
        """
        return self._predicted(self._current_model(), X)

    def score(self, X: Any, y: Any) -> float:
        """Precision at 1: the share of rows whose best label is right."""
        model = self._current_model()
        if model.targets.form == "classes":
            return float(np.mean(self._predicted(model, X) == np.asarray(host_matrix(y))))
        names, n_labels = model.names.get("label_names"), model.labels.n_labels
        truth = encode_more(y, model.targets, names, n_labels, grow=True).labels
        if truth.n_labels < n_labels:
            raise ValueError(f"y has {truth.n_labels} labels, but the model has {n_labels}")
        best = host_matrix(self._ranking(model, X, 1).labels)
        return precision_at_k(label_matrix(truth), best, k=1)

    def _predicted(self, model: Model, X: Any) -> Any:
        if model.targets.form == "classes":
            return best_classes(model, self._ranking(model, X, 1).labels)
        X = self._same_columns(model, X)
        return chosen_as_given(model, *self._matrices(model, X, "predicted"))

    def _current_model(self) -> Model:
        """Return the model where the parameters want it."""
        raise NotImplementedError

    def _ranking(self, model: Model, X: Any, k: int) -> Ranking:
        """Rank the labels of each row: arrays (n_queries, k) of X's library."""
        raise NotImplementedError

    def _matrices(self, model: Model, X: Any, *wanted: MatrixOf) -> tuple[Any, ...]:
        """What is wanted of the labels, each as a sparse matrix of X's library, from one search.

        Scores are positive for labels that can matter.
        """
        raise NotImplementedError
