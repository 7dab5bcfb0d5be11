"""What a fitted estimator over nearest neighbours tells about its training rows."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swnn_xp._estimator import Estimator, not_fitted
from swnn_xp.checks import check_columns, column_names, fingerprint
from swnn_xp.model.model import Model
from swnn_xp.model.predictions import label_values
from swnn_xp.notebook import facts
from swnn_xp.text.vectorizer import TextVectorizer, as_texts


class FittedEstimator(Estimator):
    """Counts, names and weights of a fitted model; NotFittedError before `fit`."""

    _model: Model
    allow_narrower: bool

    @property
    def n_features_in_(self) -> int:
        """Number of features of the training rows."""
        return self._fitted_model().n_features

    @property
    def n_labels_(self) -> int:
        """Number of labels."""
        return self._fitted_model().labels.n_labels

    @property
    def classes_(self) -> NDArray[Any]:
        """What the columns of predictions stand for.

        Labels given by value, as lists or one for each row: these values, one for each column.
        For a matrix the classes of each label are 0 and 1: an array (n_labels, 2), by which
        scikit-learn knows a multi-label classifier.
        """
        model = self._fitted_model()
        if model.targets.by_value:
            return label_values(model)
        return np.broadcast_to(np.asarray([0, 1]), (model.labels.n_labels, 2))

    @property
    def n_samples_fit_(self) -> int:
        """Number of training rows: appended ones count, removed ones do not."""
        return self._fitted_model().n_rows

    @property
    def backend_(self) -> str:
        """Name of the backend that the model is on: what ``"auto"`` has become."""
        return self._fitted_model().backend

    @property
    def label_counts_(self) -> NDArray[np.int64]:
        """Number of training rows of each label, removed ones not counted."""
        return self._fitted_model().label_counts.copy()

    @property
    def feature_weights_(self) -> NDArray[np.float64] | None:
        """Factors of the features, learned or given to `fit`; None without them."""
        return self._fitted_model().feature_weights

    @property
    def feature_names_(self) -> list[str] | None:
        """Names of the features, if given to `fit`."""
        return self._fitted_model().names.get("feature_names")

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features; AttributeError without them, as in scikit-learn."""
        names = self.feature_names_
        if names is None:
            raise AttributeError("the model has no feature names")
        return np.asarray(names, dtype=object)

    @property
    def feature_space_(self) -> str | None:
        """Digest of the names of the features in their order; None without names."""
        model = self._fitted_model()
        names = model.names.get("feature_names")
        if model.feature_space is not None or names is None:
            return model.feature_space
        return fingerprint(names)

    @property
    def label_names_(self) -> list[str] | None:
        """Names of the labels, if given."""
        return self._fitted_model().names.get("label_names")

    @property
    def label_uris_(self) -> list[str] | None:
        """Addresses of the labels, if `set_label_uris` gave them."""
        return self._fitted_model().names.get("label_uris")

    @property
    def vectorizer_(self) -> TextVectorizer | None:
        """What turns texts into rows, if a vectorizer was given to `fit`."""
        return self._fitted_model().vectorizer

    @property
    def row_names_(self) -> list[str] | None:
        """Names of the training rows by id, if given."""
        return self._fitted_model().names.get("row_names")

    def _repr_html_(self) -> str:
        """Parameters that are not the default, and what was fitted, for notebooks."""
        usual = inspect.signature(type(self)).parameters
        rows: dict[str, object] = {
            name: value
            for name, value in self.get_params().items()
            if repr(value) != repr(usual[name].default)
        }
        if not self.__sklearn_is_fitted__():
            return facts(f"{type(self).__name__}, not fitted", rows)
        model = self._fitted_model()
        rows |= {
            "training rows": f"{model.n_rows:,}",
            "features": f"{model.n_features:,}",
            "labels": f"{model.labels.n_labels:,}",
            "backend": model.backend,
        }
        return facts(type(self).__name__, rows)

    def _same_columns(self, model: Model, X: Any) -> Any:
        """Refuse a table with other columns than those of `fit`, and a matrix of another width."""
        who = type(self).__name__
        if as_texts(X) is not None:
            return X
        names = model.names.get("feature_names") if column_names(X) is not None else None
        return check_columns(X, model.n_features, names, who, self.allow_narrower)

    def _fitted_model(self) -> Model:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        return self._model
