"""What all estimators over nearest neighbours share: a model that is fitted, changed, asked, saved.

A subclass adds the parameters (its constructor), the name under which it is saved, and what it
predicts from the neighbours.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from swnn_xp._estimator import ModelChangedError
from swnn_xp._predicting_estimator import PredictingEstimator
from swnn_xp.backends import Options, Settings, get_backend, resolve
from swnn_xp.checks import (
    check_count,
    check_exponent,
    check_feature_weights,
    check_flag,
    check_names,
    check_threads,
    check_width,
    column_names,
)
from swnn_xp.model.changes import append, compact, moved, new_model, remove
from swnn_xp.model.files import Extra, SavedModel, open_model, save_model
from swnn_xp.model.model import (
    Current,
    Model,
    known_names,
    label_id,
    more_label_uris,
    more_row_names,
)
from swnn_xp.model.targets import encode_labels, encode_more
from swnn_xp.results import Neighbours
from swnn_xp.rows.canonical import canonical_rows, exact_values
from swnn_xp.rows.input_kind import host_matrix
from swnn_xp.rows.records import LabelRows, QuantisedRows, ValueRows
from swnn_xp.store import StoreError
from swnn_xp.text.vectorizer import fit_vectorizer, term_names

if TYPE_CHECKING:
    from swnn_xp.model.session import Session

SWAPPING = threading.Lock()
"""Held for the moment in which a model takes the place of the one that it was made from."""


class NeighbourEstimator(PredictingEstimator):
    """Fit, change, search and save training rows."""

    saved_as: ClassVar[str]
    """What the manifest of a saved model calls the estimator."""

    n_neighbors: int
    alpha: float
    beta: float
    backend: str
    memory_budget: int
    n_jobs: int
    device: Any
    calibrate: bool

    def fit(
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
        X : sparse or dense matrix (n_rows, n_features), or texts with a ``vectorizer``
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
            model keeps it and takes texts from then on; its terms are the feature names.

        Returns
        -------
        self
        """
        self._check_params()
        X, text = fit_vectorizer(X, vectorizer)
        backend = resolve(self.backend, X)
        index_class = backend.load()
        placement = index_class.placement.find(backend.name, self.device, X)
        weights = check_feature_weights(feature_weights)
        labels, targets, found = encode_labels(y, label_names)
        rows = placement.prepare(X, "X", weights)
        if weights is not None and weights.size != rows.n_features:
            raise ValueError(
                f"feature_weights has {weights.size} weights, but X has {rows.n_features} features"
            )
        check_training_rows(rows.n_rows, labels.n_rows)
        features = term_names(text, feature_names) or column_names(X)
        names = all_names(rows, labels, features, found or label_names, row_names)
        model = new_model(index_class, placement, rows, labels, names)
        model = replace(model, feature_weights=weights, vectorizer=text, targets=targets)
        self._model = self._learn(model)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        classes: Any = None,
        label_names: list[str] | None = None,
        row_names: list[str] | None = None,
    ) -> Self:
        """Append training rows; the next query finds them.

        Other threads may ask and change the model meanwhile. `partial_fit` and `remove` are then
        applied one after the other; what takes long (`compact`, `compress`, `relearn`) raises
        ModelChangedError instead, and changes nothing, if it was overtaken.

        Parameters
        ----------
        X : matrix (n_new, n_features)
            The features of `fit`; fewer with ``allow_narrower``.
        y : matrix (n_new, n_labels), or labels as at `fit`
            A matrix may be wider than before: the new columns are new labels. Labels given by value
            that are new get the columns that follow.
        classes : sequence, optional
            All labels there may be, at the first call, where labels are given by value.
        label_names : list of str, optional
            Names of all labels, if the model has names and y brings new labels.
        row_names : list of str, optional
            Names of the new rows.

        Returns
        -------
        self
            The new rows have the ids that follow the largest one given so far.
        """
        if not self.__sklearn_is_fitted__():
            encoded = encode_labels(y, label_names, classes)
            return self.fit(X, encoded, label_names=label_names, row_names=row_names)
        self._current_model()  # moved, if it has to be, and asked with parameters that fit
        self._change(lambda model: self._appended(model, X, y, label_names, row_names))
        return self

    def _appended(
        self,
        model: Model,
        X: Any,
        y: Any,
        label_names: list[str] | None,
        row_names: list[str] | None,
    ) -> Model:
        """The model with further rows."""
        X = model.rows_of(self._same_columns(model, X))
        old, n_labels = model.names, model.labels.n_labels
        labels, targets, found = encode_more(
            y, model.targets, old.get("label_names"), n_labels, grow=True
        )
        label_names = label_names or found
        rows = model.placement.prepare(X, "X", model.feature_weights)
        check_training_rows(rows.n_rows, labels.n_rows)
        check_width(rows.n_features, model.n_features)
        rows = rows._replace(n_features=model.n_features)
        width = max(n_labels, labels.n_labels)
        if "label_names" in old and width > n_labels and label_names is None:
            raise ValueError(f"y brings new labels: label_names must name all {width}")
        added = check_names(row_names, rows.n_rows, "row_names")
        names = known_names(
            feature_names=old.get("feature_names"),
            label_names=check_names(label_names, width, "label_names") or old.get("label_names"),
            label_uris=more_label_uris(old.get("label_uris"), label_names, width),
            row_names=more_row_names(old.get("row_names"), model.next_id, added, rows.n_rows),
        )
        values = (
            None if model.values is None else exact_values(canonical_rows(host_matrix(X)).values)
        )
        return replace(append(model, rows, labels, names, values), targets=targets)

    def remove(self, ids: Any) -> Self:
        """Remove training rows by id; the ids of the others stay, and none is given twice."""
        self._change(lambda model: remove(model, ids))
        return self

    def set_label_uris(self, uris: list[str]) -> Self:
        """Give the labels addresses beside their names, such as those of a thesaurus."""

        def named(model: Model) -> Model:
            checked = check_names(uris, model.labels.n_labels, "label_uris")
            return replace(model, names=dict(model.names) | known_names(label_uris=checked))

        self._change(named)
        return self

    def compact(self) -> Self:
        """Index the remaining rows again as one segment: as fast and small as after `fit`."""
        model = self._current_model()
        self._replace_model(model, compact(model), "compact")
        return self

    def kneighbors(self, X: Any, n_neighbors: int | None = None) -> Neighbours:
        """Find the most similar training rows.

        Returns
        -------
        Neighbours
            ``similarities`` and ``ids``, each (n_queries, n_neighbors), best first; slots without
            a neighbour hold similarity 0 and id -1.
        """
        model = self._current_model()
        wanted = self._settings(model).n_neighbors if n_neighbors is None else n_neighbors
        check_count(wanted, "n_neighbors")
        X = self._same_columns(model, X)
        found = model.search(model.queries(X), int(wanted), float(self.beta), self._options())
        return Neighbours(*model.placement.as_input_kind(X, *model.with_ids(found)))

    def session(self, *, budget: int | None = None) -> Session:
        """Open a session for real-time answers, one row at a time, on one thread each.

        Parameters
        ----------
        budget : int, optional
            Compare at most this many training rows in full for a query: faster, but not exact.
            The session's ``n_unresolved`` says how many rows were left open.

        Examples
        --------
        >>> from swnn_xp import SWNNClassifier
        >>> clf = SWNNClassifier().fit([[1, 0], [0, 1]], [[1, 0], [0, 1]])
        >>> labels, scores = clf.session().predict_one([0], [2.0], k=1)
        >>> labels.tolist()
        [0]
        """
        from swnn_xp.model.session import Session

        return Session(self._follower(), budget=budget)

    def label_id(self, label: int | str) -> int:
        """Turn a label's name or id into its id, or say that there is no such label."""
        model = self._fitted_model()
        return label_id(label, model.names.get("label_names"), model.labels.n_labels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a folder (arrays and a manifest, no pickle)."""
        model = self._fitted_model()
        self._check_params()
        save_model(path, self.saved_as, model, self._saved_params(), self._extra(model))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, mmap: bool = True, verify: bool = False, **params: Any
    ) -> Self:
        """Open a model that `save` wrote.

        Parameters
        ----------
        path : path of the folder
        mmap : bool
            Map the arrays into memory instead of reading them.
        verify : bool
            Check every array against its checksum, and every number in it, first.
        **params
            Parameters that replace the saved ones, such as ``n_neighbors`` or ``backend``.
        """
        cls._check_known(params)
        saved = open_model(path, cls.saved_as, mmap=mmap, verify=verify)
        try:
            loaded = cls(**(saved.params | params))
        except TypeError as error:
            raise StoreError(path, f"manifest.json lacks or garbles params: {error}") from error
        loaded._check_params()
        loaded._model = loaded._with_extra(saved.model(loaded.backend, loaded.device), saved)
        if verify:
            saved.check(loaded._model)
        return loaded

    @classmethod
    def _of_rows(cls, rows: QuantisedRows, labels: LabelRows, **params: Any) -> Self:
        """Estimator over rows on the host that are canonical already."""
        made = cls(**params)
        made._check_params()
        backend = resolve(made.backend, rows.quantised)
        index_class = backend.load()
        placement = index_class.placement.find(backend.name, made.device)
        made._model = new_model(index_class, placement, rows, labels)
        return made

    def _saved_params(self) -> dict[str, Any]:
        """Parameters that a saved model keeps, of types that JSON has."""
        return self._settings()._asdict()

    def _learn(self, model: Model) -> Model:
        """Add what a subclass learns from the indexed rows."""
        return model

    def _calibration(self, model: Model) -> Any:
        """Map from shares of votes to probabilities, if there is one."""
        return None

    def _extra(self, model: Model) -> Extra:
        """What is saved beside the model."""
        return Extra()

    def _with_extra(self, model: Model, saved: SavedModel) -> Model:
        """Put back what `_extra` has given."""
        return model

    def _settings(self, model: Model | None = None) -> Settings:
        """The method's parameters; those of a model that learned them are its own."""
        return Settings(int(self.n_neighbors), float(self.alpha), float(self.beta))

    def _options(self) -> Options:
        return Options(int(self.memory_budget), check_threads(self.n_jobs))

    def _check_params(self) -> None:
        check_count(self.n_neighbors, "n_neighbors")
        check_exponent(self.alpha, "alpha")
        check_exponent(self.beta, "beta")
        self._check_machine()

    def _check_machine(self) -> None:
        """Check the parameters that decide how an answer is computed, not what it is."""
        check_flag(self.allow_narrower, "allow_narrower")
        check_count(self.memory_budget, "memory_budget")
        check_threads(self.n_jobs)
        if self.backend != "auto":
            get_backend(self.backend)

    def _current_model(self) -> Model:
        """Return the model where the parameters want it; every query starts here.

        Use one model from start to end of a call: another thread may replace the estimator's.
        """
        model = self._fitted_model()
        self._check_params()
        here = moved(model, self.backend, self.device)
        if here is not model:
            self._swap(model, here)  # unless another thread has changed it: that change stays
        return here

    def _follower(self) -> Callable[[], Current]:
        """Return a function that gives the current model and parameters; quick if nothing changed.

        A session asks it for every answer, so it compares identities.
        """
        backend, n_neighbors, alpha, beta, calibrate = self._followed()
        seen = self._current()

        def current() -> Current:
            nonlocal seen, backend, n_neighbors, alpha, beta, calibrate
            if (
                self._model is not seen.model
                or self.n_neighbors is not n_neighbors
                or self.alpha is not alpha
                or self.beta is not beta
                or self.backend is not backend
                or self.calibrate is not calibrate
            ):
                backend, n_neighbors, alpha, beta, calibrate = self._followed()
                seen = self._current()
            return seen

        return current

    def _followed(self) -> tuple[Any, ...]:
        return self.backend, self.n_neighbors, self.alpha, self.beta, self.calibrate

    def _current(self) -> Current:
        model = self._current_model()
        return Current(model, self._settings(model), partial(self._calibration, model))

    def _change(self, step: Callable[[Model], Model]) -> None:
        """Replace the model by what a short step makes of it, again if another thread did so."""
        while True:
            model = self._fitted_model()
            if self._swap(model, step(model)):
                return

    def _replace_model(self, old: Model, new: Model, action: str, **params: Any) -> None:
        """Put what was made of a model in its place; ModelChangedError if it is there no more.

        Parameters that the new model was made with are set with it.
        """
        if not self._swap(old, new, **params):
            raise ModelChangedError(
                f"another thread changed the model during {action}: call {action} again"
            )

    def _swap(self, old: Model, new: Model, **params: Any) -> bool:
        with SWAPPING:
            if self._model is not old:
                return False
            for name, value in params.items():
                setattr(self, name, value)
            self._model = new
            return True


def all_names(
    rows: QuantisedRows | ValueRows,
    labels: LabelRows,
    feature_names: list[str] | None,
    label_names: list[str] | None,
    row_names: list[str] | None,
) -> dict[str, list[str]]:
    """Names that are known, one for each feature, label and row."""
    return known_names(
        feature_names=check_names(feature_names, rows.n_features, "feature_names"),
        label_names=check_names(label_names, labels.n_labels, "label_names"),
        row_names=check_names(row_names, labels.n_rows, "row_names"),
    )


def check_training_rows(n_rows: int, n_label_rows: int) -> None:
    """Require as many rows in X as in y, and one at least."""
    if n_rows != n_label_rows:
        raise ValueError(f"X has {n_rows} rows but y has {n_label_rows}")
    if n_rows == 0:
        raise ValueError("X has no rows: there is nothing to learn from")
