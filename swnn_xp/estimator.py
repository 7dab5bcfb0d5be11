"""What `SWNNClassifier` and `SWNNRanker` share: fitting, updating, querying and saving a model.

They differ in how a ranking is made from neighbours. That is an object that the fitted model holds
(`swnn_xp.model.model.LabelRanking`), so every method here serves both.
"""

from __future__ import annotations

import copy
import inspect
import os
import threading
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swnn_xp.backends import Index, Options, Placement, get_backend, resolve
from swnn_xp.checks import (
    check_columns,
    check_count,
    check_flag,
    check_label_width,
    check_names,
    check_threads,
    check_width,
    column_names,
    fingerprint,
)
from swnn_xp.metrics import precision_at_k
from swnn_xp.model.changes import append, compact, moved, remove
from swnn_xp.model.explain import as_single_row
from swnn_xp.model.files import SavedModel, open_model, save_model
from swnn_xp.model.model import (
    LabelRanking,
    MatrixOf,
    Model,
    Queries,
    extend_label_uris,
    extend_row_names,
    known_names,
    label_id,
)
from swnn_xp.model.targets import (
    Targets,
    encode_labels,
    encode_more,
    label_matrix,
    names_of_values,
)
from swnn_xp.notebook import facts_table
from swnn_xp.results import Neighbours, RankedProbabilities, Ranking
from swnn_xp.rows.canonical import exact_values
from swnn_xp.rows.excluded import excluded_labels, leave_out
from swnn_xp.rows.input_kind import as_texts, host_array, host_matrix
from swnn_xp.rows.records import LabelRows, ValueRows, longest_row
from swnn_xp.search import pad_to
from swnn_xp.sklearn_api import Estimator, ModelChangedError, not_fitted
from swnn_xp.store import StoreError
from swnn_xp.text.vectorizer import TextVectorizer, fit_vectorizer, term_names

if TYPE_CHECKING:
    from swnn_xp.model.session import Session

GIGABYTE = 10**9
_NUDGE = 2.0**-40  # lost in no normalisation, and far below what a probability means


class TrainingData(NamedTuple):
    """What `fit` was given, checked."""

    index_class: type[Index]
    placement: Placement
    rows: ValueRows
    """On the host, or on the device that they came from."""
    labels: LabelRows
    targets: Targets
    names: dict[str, list[str]]
    vectorizer: TextVectorizer | None


class NeighbourEstimator(Estimator):
    """Fits, updates, queries and saves a model of training rows.

    A subclass has the parameters (its constructor), `fit`, and how its rankings are made.

    Every method takes the current model once and uses it to the end: another thread may replace it
    meanwhile, by one with other labels.
    """

    __slots__ = ("_last_checked", "_lock")
    _lock: threading.RLock
    """Held while the model, and parameters with it, are replaced."""
    _last_checked: tuple[tuple[Any, ...], Model] | None
    """Parameters and model of the last call: while both are the same, no check is repeated."""

    saved_as: ClassVar[str]
    """What the manifest of a saved model calls the estimator."""
    answer_params: ClassVar[tuple[str, ...]]
    """Parameters that answers depend on."""

    _get_params: ClassVar[attrgetter[Any]]
    _model: Model
    backend: str
    memory_budget: int
    n_jobs: int
    device: Any
    allow_narrower: bool
    threshold: float | Literal["f1"]

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """Make an estimator with a lock of its own."""
        made = super().__new__(cls)
        made._lock, made._last_checked = threading.RLock(), None
        return made

    def __init_subclass__(cls) -> None:
        """Look up the names of the parameters once; a user's subclass may hide or add some."""
        super().__init_subclass__()
        if "answer_params" in vars(cls):
            cls._get_params = attrgetter(*inspect.signature(cls).parameters)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self).copy()  # a copy has a lock of its own

    @abstractmethod
    def check_params(self) -> None:
        """Raise ValueError if a parameter has a value that it can't have."""

    @abstractmethod
    def saved_params(self, model: Model) -> dict[str, Any]:
        """Parameters that a saved model keeps, of types that JSON has."""

    @abstractmethod
    def fit(self, X: Any, y: Any, **names: Any) -> Self:
        """Learn from training rows."""

    @abstractmethod
    def _current_ranking(self, model: Model) -> LabelRanking:
        """The ranking that the parameters ask for: the model's own if none has changed."""

    @abstractmethod
    def _saved_ranking(self, saved: SavedModel, model: Model) -> LabelRanking:
        """Read back what the ranking has stored."""

    @property
    def model_(self) -> Model:
        """The fitted model as it stands, which never changes itself; see `current_model`."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        return self._model

    @property
    def options(self) -> Options:
        """Memory and threads that a batch may use."""
        return Options(int(self.memory_budget), check_threads(self.n_jobs))

    def current_model(self) -> Model:
        """Return the fitted model, brought in line with the parameters; every query starts here.

        A new ``backend`` or ``device`` moves the model; other parameters change how it ranks.
        """
        params, seen = type(self)._get_params(self), self._last_checked
        if (
            seen is not None
            and seen[1] is vars(self).get("_model")
            and all(map(is_, params, seen[0]))  # 1 is not True, though they are equal
        ):
            seen[1].check_files()
            return seen[1]
        self.check_params()
        with self._lock:  # `compress` replaces the model and a parameter
            fitted = self.model_
            fitted.check_files()
            ranking = self._current_ranking(fitted)
        current = fitted if ranking is fitted.ranking else fitted.with_ranking(ranking)
        current = moved(current, self.backend, self.device)
        if current is not fitted:
            self._compare_and_swap(fitted, current)  # a change by another thread stays
        unchanged = self._current_ranking(current) is current.ranking
        if unchanged and all(map(is_, params, type(self)._get_params(self))):
            self._last_checked = params, current  # else another thread is changing parameters
        return current

    def with_model(self, model: Model) -> Self:
        """Copy the estimator, with another fitted model."""
        made = copy.copy(self)
        made._model = model
        return made

    @property
    def n_features_in_(self) -> int:
        """Number of features of the training rows."""
        return self.model_.n_features

    @property
    def n_labels_(self) -> int:
        """Number of labels."""
        return self.model_.labels.n_labels

    @property
    def classes_(self) -> NDArray[Any]:
        """What the columns of predictions stand for.

        Labels given by value, as lists or one for each row: these values, one for each column.
        For a matrix the classes of each label are 0 and 1: an array (n_labels, 2), by which
        scikit-learn knows a multi-label classifier.
        """
        model = self.model_
        if model.targets.by_value:
            return _label_values(model)
        return np.broadcast_to(np.asarray([0, 1]), (model.labels.n_labels, 2))

    @property
    def n_samples_fit_(self) -> int:
        """Number of training rows: appended ones count, removed ones do not."""
        return self.model_.n_rows

    @property
    def backend_(self) -> str:
        """Name of the backend that the model is on: the choice where ``"auto"`` was given."""
        return self.model_.backend

    @property
    def label_counts_(self) -> NDArray[np.int64]:
        """Number of training rows of each label, removed ones not counted."""
        model = self.model_
        model.check_files()
        return model.label_counts.copy()

    @property
    def feature_weights_(self) -> NDArray[np.float64] | None:
        """Factors of the features, learned or given to `fit`; None without them."""
        return self.model_.feature_weights

    @property
    def feature_names_(self) -> list[str] | None:
        """Names of the features, if given to `fit`."""
        return self.model_.names.get("feature_names")

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
        model = self.model_
        names = model.names.get("feature_names")
        if model.feature_space is not None or names is None:
            return model.feature_space
        return fingerprint(names)

    @property
    def label_names_(self) -> list[str] | None:
        """Names of the labels, if given."""
        return self.model_.names.get("label_names")

    @property
    def label_uris_(self) -> list[str] | None:
        """Addresses of the labels, if `set_label_uris` gave them."""
        return self.model_.names.get("label_uris")

    @property
    def vectorizer_(self) -> TextVectorizer | None:
        """What turns texts into rows, if a vectorizer was given to `fit`."""
        return self.model_.vectorizer

    @property
    def row_names_(self) -> list[str] | None:
        """Names of the training rows by id, if given."""
        return self.model_.names.get("row_names")

    def _repr_html_(self) -> str:
        """Parameters that are not the default, and what was fitted, for notebooks."""
        usual = inspect.signature(type(self)).parameters
        rows: dict[str, object] = {
            name: value
            for name, value in self.get_params().items()
            if repr(value) != repr(usual[name].default)
        }
        if not self.__sklearn_is_fitted__():
            return facts_table(f"{type(self).__name__}, not fitted", rows)
        model = self.model_
        rows |= {
            "training rows": f"{model.n_rows:,}",
            "features": f"{model.n_features:,}",
            "labels": f"{model.labels.n_labels:,}",
            "backend": model.backend,
        }
        return facts_table(type(self).__name__, rows)

    def _training_data(
        self,
        X: Any,
        y: Any,
        *,
        feature_names: list[str] | None,
        label_names: list[str] | None,
        row_names: list[str] | None,
        vectorizer: Any,
    ) -> TrainingData:
        """Check what `fit` was given."""
        self.check_params()
        X, text = fit_vectorizer(X, vectorizer)
        backend = resolve(self.backend, X)
        index_class = backend.load()
        placement = index_class.placement.find(backend.name, self.device, X)
        labels, targets, found = encode_labels(y, label_names)
        rows = placement.canonical(X, "X")
        check_training_rows(rows.n_rows, labels.n_rows)
        features = term_names(text, feature_names) or column_names(X)
        names = all_names(rows, labels, features, found or label_names, row_names)
        return TrainingData(index_class, placement, rows, labels, targets, names, text)

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

        Other threads may query and change the model meanwhile. `partial_fit` and `remove` are then
        applied one after the other; what takes long (`compact`, `compress`, `relearn`) raises
        ModelChangedError instead, and changes nothing, if it was overtaken.

        Parameters
        ----------
        X : matrix (n_new, n_features)
            The features of `fit`; fewer with ``allow_narrower``.
        y : matrix (n_new, n_labels), or labels as at `fit`
            A matrix may be wider than before: the new columns are new labels. A narrower one needs
            ``allow_narrower``. Labels given by value that are new get the columns that follow.
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
        return self._append(X, y, classes, label_names=label_names, row_names=row_names)

    def _append(self, X: Any, y: Any, classes: Any, **names: Any) -> Self:
        """Append rows, or fit on them if there are none yet."""
        if not self.__sklearn_is_fitted__():
            encoded = encode_labels(y, names["label_names"], classes)
            first = copy.copy(self).fit(X, encoded, **names)
            if self._compare_and_swap(None, first.model_):
                return self  # else another thread was the first
        self.current_model()  # moved, if it has to be, and asked with parameters that fit
        self._update_model(lambda model: self._append_rows(model, X, y, **names))
        return self

    def _append_rows(self, model: Model, X: Any, y: Any, **names: Any) -> Model:
        """The model with further rows, given with ``label_names`` and ``row_names``."""
        label_names, row_names = names["label_names"], names["row_names"]
        X = model.rows_of(self._check_columns(model, X))
        old, n_labels = model.names, model.labels.n_labels
        labels, targets, found = encode_more(
            y, model.targets, old.get("label_names"), n_labels, grow=True
        )
        check_label_width(labels.n_labels, n_labels, self.allow_narrower)
        label_names = label_names or found
        given = model.placement.canonical(X, "X")
        check_training_rows(given.n_rows, labels.n_rows)
        check_width(given.n_features, model.n_features)
        given = given._replace(n_features=model.n_features)
        rows = model.placement.quantise(given, model.feature_weights)
        width = max(n_labels, labels.n_labels)
        if "label_names" in old and width > n_labels and label_names is None:
            raise ValueError(f"y brings new labels: label_names must name all {width}")
        added = check_names(row_names, rows.n_rows, "row_names")
        names = known_names(
            feature_names=old.get("feature_names"),
            label_names=check_names(label_names, width, "label_names") or old.get("label_names"),
            label_uris=extend_label_uris(old.get("label_uris"), label_names, width),
            row_names=extend_row_names(old.get("row_names"), model.next_id, added, rows.n_rows),
        )
        values = None if model.values is None else exact_values(host_array(given.values))
        return replace(append(model, rows, labels, names, values), targets=targets)

    def remove(self, ids: Any) -> Self:
        """Remove training rows by id; the ids of the others stay, and none is given twice."""
        self._update_model(lambda model: remove(model, ids))
        return self

    def set_label_uris(self, uris: list[str]) -> Self:
        """Give the labels addresses beside their names, such as those of a thesaurus."""

        def named(model: Model) -> Model:
            checked = check_names(uris, model.labels.n_labels, "label_uris")
            return replace(model, names=dict(model.names) | known_names(label_uris=checked))

        self._update_model(named)
        return self

    def compact(self) -> Self:
        """Index the remaining rows again as one segment: as fast and small as after `fit`."""
        model = self.current_model()
        self._replace_model(model, compact(model), "compact")
        return self

    def predict_topk(self, X: Any, k: int = 5, *, exclude: Any = None) -> Ranking:
        """Rank the labels of each row.

        Parameters
        ----------
        X : rows, as at `fit`
        k : int, default 5
        exclude : sparse 0/1 matrix (n_queries, n_labels) or pairs of a row and a label, optional
            Labels that a row must not get: those behind them move up.

        Returns
        -------
        Ranking
            ``labels`` and ``scores``, each (n_queries, k), best first; slots without a label hold
            -1 and score 0. A score of `SWNNRanker` above 0 means that the label is more likely
            right than wrong.
        """
        return self._ranked(self.current_model(), X, k, exclude)

    def topk_probabilities(self, X: Any, k: int = 5, *, exclude: Any = None) -> RankedProbabilities:
        """Rank the labels of each row, with the probability that each is right.

        Parameters
        ----------
        X, k, exclude
            As for `predict_topk`.

        Returns
        -------
        RankedProbabilities
            ``labels``, ``scores`` and ``probabilities``, each (n_queries, k); labels and scores
            are those of `predict_topk`, probabilities those of `predict_proba`.
        """
        model = self.current_model()
        X = self._check_columns(model, X)
        check_count(k, "k")
        ranking, queries = model.ranking, model.queries(X)
        excluded, n_ranked = _excluded(model, queries, int(k), exclude)

        def answer(some: Queries, options: Options) -> tuple[Any, ...]:
            found = ranking.find(model, some, options)
            best = ranking.rank_found(model, some, found, n_ranked, options)
            return (*best, ranking.probabilities(best, found))

        whole: Any = queries.in_batches(self.options, answer)
        if excluded is not None:
            whole = leave_out(excluded, int(k), *whole)
        if k > model.labels.n_labels:
            whole = pad_to(int(k), *whole)
        return RankedProbabilities(*model.placement.as_input_kind(X, *whole))

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
        model = self.current_model()
        names = model.names.get("label_names") or names_of_values(model.targets.values)
        if names is None:
            raise ValueError("the model has no label names: give label_names to fit")
        check_count(k, "k")
        best = host_matrix(self._ranked(model, X, model.n_ranked(int(k))).labels)
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
        model = self.current_model()
        X = self._check_columns(model, X)
        if model.targets.form == "classes":
            return _class_probabilities(model, *self._matrices(model, X, "scores", "probabilities"))
        return _as_given(model, *self._matrices(model, X, "probabilities"))

    def decision_function(self, X: Any) -> Any:
        """Scores of labels that got a vote or are candidates, as a matrix like `predict_proba`'s.

        `SWNNClassifier`: the votes. `SWNNRanker`: a score s becomes ``1 + s`` from 0 on and
        ``1 / (1 - s)`` below, so that the order stays and labels that are no candidates (0) come
        last. After a `fit` with two classes, one for each row: how much more likely the second is.
        """
        model = self.current_model()
        X = self._check_columns(model, X)
        if model.targets.form != "classes":
            return _as_given(model, *self._matrices(model, X, "scores"))
        if model.labels.n_labels != 2:
            return _class_scores(model, *self._matrices(model, X, "scores"))
        # scikit-learn wants one figure for two classes, in the order of the probabilities.
        likely = _class_probabilities(model, *self._matrices(model, X, "scores", "probabilities"))
        return likely[:, 1] - likely[:, 0]

    def predict(self, X: Any) -> Any:
        """Labels whose probability passes the ``threshold``, in the form that y had at `fit`.

        A sparse or dense 0/1 matrix, or a list of labels for each row. After a `fit` with one class
        per row: the best class of each row, and the most frequent one where it has no neighbours.
        """
        return self._predicted(self.current_model(), X)

    def score(self, X: Any, y: Any) -> float:
        """Precision at 1: the share of rows whose best label is right."""
        model = self.current_model()
        if model.targets.form == "classes":
            return float(np.mean(self._predicted(model, X) == np.asarray(host_matrix(y))))
        names, n_labels = model.names.get("label_names"), model.labels.n_labels
        truth = encode_more(y, model.targets, names, n_labels, grow=True).labels
        if truth.n_labels < n_labels:
            raise ValueError(f"y has {truth.n_labels} labels, but the model has {n_labels}")
        best = host_matrix(self._ranked(model, X, 1).labels)
        return precision_at_k(label_matrix(truth), best, k=1)

    def _predicted(self, model: Model, X: Any) -> Any:
        if model.targets.form == "classes":
            return _best_classes(model, self._ranked(model, X, 1).labels)
        X = self._check_columns(model, X)
        return _chosen_as_given(model, *self._matrices(model, X, "predicted"))

    def _ranked(self, model: Model, X: Any, k: int, exclude: Any = None) -> Ranking:
        """Rank the labels of each row: arrays (n_queries, k) of X's library."""
        X = self._check_columns(model, X)
        check_count(k, "k")
        queries = model.queries(X)
        excluded, n_ranked = _excluded(model, queries, int(k), exclude)

        def answer(some: Queries, options: Options) -> Ranking:
            return model.ranking.rank(model, some, n_ranked, options)

        best = Ranking(*queries.in_batches(self.options, answer))
        if excluded is not None:
            best = Ranking(*leave_out(excluded, int(k), *best))
        if k > model.labels.n_labels:
            best = Ranking(*pad_to(int(k), *best))
        return Ranking(*model.placement.as_input_kind(X, *best))

    def _matrices(self, model: Model, X: Any, *wanted: MatrixOf) -> list[Any]:
        """The wanted matrices of labels, each sparse and of X's library, from one search."""
        placement, width = model.placement, model.labels.n_labels
        queries, options = model.queries(X), self.options
        found = model.ranking.matrices(model, queries, wanted, self.threshold, options)
        return [placement.as_sparse_like(X, *csr, width) for csr in found]

    def _explained(self, x: Any, label: int | str) -> Any:
        model = self.current_model()
        wanted = label_id(label, model.names.get("label_names"), model.labels.n_labels)
        row = self._check_columns(model, as_single_row(model, x))
        return model.ranking.explain(model, model.queries(row), wanted, self.options)

    def kneighbors(self, X: Any, n_neighbors: int | None = None) -> Neighbours:
        """Find the most similar training rows.

        Returns
        -------
        Neighbours
            ``similarities`` and ``ids``, each (n_queries, n_neighbors), best first; slots without
            a neighbour hold similarity 0 and id -1.
        """
        model = self.current_model()
        settings = model.ranking.settings
        wanted = settings.n_neighbors if n_neighbors is None else n_neighbors
        check_count(wanted, "n_neighbors")
        X = self._check_columns(model, X)

        def answer(some: Queries, options: Options) -> Neighbours:
            cap = model.ranking.postings
            found = model.search(some.scaled, int(wanted), settings.beta, options, cap)
            return model.with_ids(found)

        found = model.queries(X).in_batches(self.options, answer)
        return Neighbours(*model.placement.as_input_kind(X, *found))

    def session(self, *, postings: int | None = None) -> Session:
        """Open a session for real-time answers, one row at a time, on one thread each.

        Parameters
        ----------
        postings : int, optional
            Read at most about this many postings for a query, those of its rarest features: faster
            however many rows there are, but not exact. Default: as the model was trained.

        Examples
        --------
        >>> from swnn_xp import SWNNClassifier
        >>> clf = SWNNClassifier().fit([[1, 0], [0, 1]], [[1, 0], [0, 1]])
        >>> labels, scores = clf.session().predict_one([0], [2.0], k=1)
        >>> labels.tolist()
        [0]
        """
        from swnn_xp.model.session import Session  # it needs numba

        return Session(self._model_getter(), postings=postings)

    def _model_getter(self) -> Callable[[], Model]:
        """Return a function that gives the current model; quick if nothing has changed.

        A session asks it for every answer. Where parameters that answers depend on do not fit the
        model, it raises what a batch raises, every time.
        """
        params_of = attrgetter(*self.answer_params)
        held: Any = params_of(self)
        seen = self.current_model()

        def current() -> Model:
            nonlocal held, seen
            if self._model is not seen or params_of(self) != held:
                params, seen = params_of(self), self.current_model()
                held = params if params_of(self) == params else None  # another thread's change
            return seen

        return current

    def label_id(self, label: int | str) -> int:
        """Turn a label's name or id into its id, or say that there is no such label."""
        model = self.model_
        return label_id(label, model.names.get("label_names"), model.labels.n_labels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a folder (arrays and a manifest, no pickle)."""
        model = self.model_
        model.check_files()
        self.check_params()
        save_model(path, self.saved_as, model, self.saved_params(model))

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
        cls.check_known_params(params)
        saved = open_model(path, cls.saved_as, mmap=mmap, verify=verify)
        try:
            loaded = cls(**(saved.params | params))
        except TypeError as error:
            raise StoreError(
                path, f"manifest.json: missing or invalid field params: {error}"
            ) from error
        loaded.check_params()
        model = saved.model(loaded.backend, loaded.device)
        loaded._model = replace(model, ranking=loaded._saved_ranking(saved, model))
        if verify:
            saved.check(loaded._model)
        return loaded

    def _check_execution_params(self) -> None:
        """Check the parameters that decide how an answer is computed, not what the answer is."""
        check_flag(self.allow_narrower, "allow_narrower")
        check_count(self.memory_budget, "memory_budget")
        check_threads(self.n_jobs)
        if self.backend != "auto":
            get_backend(self.backend)

    def _check_columns(self, model: Model, X: Any) -> Any:
        """Refuse a table whose columns are not those of `fit`, and a matrix of another width."""
        who = type(self).__name__
        if as_texts(X) is not None:
            return X
        names = model.names.get("feature_names") if column_names(X) is not None else None
        return check_columns(X, model.n_features, names, who, self.allow_narrower)

    def _update_model(self, step: Callable[[Model], Model]) -> None:
        """Apply a short step to the model, again if another thread has changed it meanwhile."""
        while True:
            model = self.model_
            model.check_files()
            if self._compare_and_swap(model, step(model)):
                return

    def _replace_model(self, old: Model, new: Model, action: str, **params: Any) -> None:
        """Replace one model by another; ModelChangedError if it is no longer the current one.

        The parameters are set with the model.
        """
        if not self._compare_and_swap(old, new, **params):
            raise ModelChangedError(
                f"another thread changed the model during {action}: call {action} again"
            )

    def _set_model(self, model: Model) -> None:
        """Replace the model, whichever is current; only `fit` does so."""
        with self._lock:
            self._model, self._last_checked = model, None  # which would keep the old one alive

    def _compare_and_swap(self, old: Model | None, new: Model, **params: Any) -> bool:
        """Replace the model if it is still the old one; return whether it was."""
        with self._lock:
            if vars(self).get("_model") is not old:
                return False
            for name, value in params.items():
                setattr(self, name, value)
            self._model, self._last_checked = new, None
            return True


def all_names(
    rows: ValueRows,
    labels: LabelRows,
    feature_names: list[str] | None,
    label_names: list[str] | None,
    row_names: list[str] | None,
) -> dict[str, list[str]]:
    """Check the names that are given: one for each feature, label and row."""
    return known_names(
        feature_names=check_names(feature_names, rows.n_features, "feature_names"),
        label_names=check_names(label_names, labels.n_labels, "label_names"),
        row_names=check_names(row_names, labels.n_rows, "row_names"),
    )


def check_training_rows(n_rows: int, n_label_rows: int) -> None:
    """Require as many rows in X as in y, and at least one."""
    if n_rows != n_label_rows:
        raise ValueError(f"X has {n_rows} rows but y has {n_label_rows}")
    if n_rows == 0:
        raise ValueError("X has no rows: there is nothing to learn from")


def _excluded(model: Model, queries: Queries, k: int, exclude: Any) -> tuple[LabelRows | None, int]:
    """What is to be left out of a ranking, and how many labels to rank so that k are left."""
    if exclude is None:
        return None, model.n_ranked(k)
    excluded = excluded_labels(exclude, queries.n_rows, model.labels.n_labels)
    return excluded, model.n_ranked(k + longest_row(excluded))


def _label_values(model: Model) -> NDArray[Any]:
    """What each column stands for, where labels were given by value."""
    if model.targets.values is not None:
        return model.targets.values
    dtype = object if model.targets.form == "lists" else None
    return np.asarray(model.names["label_names"], dtype=dtype)


def _as_given(model: Model, matrix: Any) -> Any:
    """Scores of labels, a row for each query: dense if the labels were."""
    if model.targets.form != "dense":
        return matrix
    return _dense(matrix)


def _chosen_as_given(model: Model, matrix: Any) -> Any:
    """Labels that were chosen, marked in a matrix: as a matrix like y, or as lists of labels."""
    if model.targets.form == "dense":
        return _whole_numbers(_dense(matrix))
    if model.targets.form != "lists":
        return matrix
    csr = host_matrix(matrix)
    ends = csr.indptr.tolist()
    chosen = _label_values(model)[csr.indices].tolist()
    return [chosen[start:stop] for start, stop in pairwise(ends)]


def _class_scores(model: Model, scores: Any) -> NDArray[np.float64]:
    """Scores of classes; queries without neighbours get each class's share of the rows."""
    filled: NDArray[np.float64] = np.array(_dense(host_matrix(scores)))
    empty = ~filled.any(axis=1)
    filled[empty] = model.label_counts / max(int(model.label_counts.sum()), 1)
    return filled


def _best_classes(model: Model, best: Any) -> NDArray[Any]:
    """The class of each query from its best label; the most frequent one where there is none."""
    labels = host_matrix(best).reshape(-1)
    classes: NDArray[Any] = _label_values(model)
    return classes[np.where(labels >= 0, labels, int(np.argmax(model.label_counts)))]


def _class_probabilities(model: Model, scores: Any, matrix: Any) -> NDArray[np.float64]:
    """Probabilities of classes, which add up to 1 in each row.

    Where every probability is 0, the scores say how they compare. Calibration maps many scores to
    one probability: the class of the best score is then nudged ahead, so that probabilities,
    decisions and predictions agree.
    """
    likely, decisive = np.array(_dense(host_matrix(matrix))), _class_scores(model, scores)
    empty = ~likely.any(axis=1)
    likely[empty] = decisive[empty]
    best = np.argmax(decisive, axis=1)
    tied = np.flatnonzero(best != np.argmax(likely, axis=1))
    likely[tied, best[tied]] = likely[tied].max(axis=1, initial=0) * (1 + _NUDGE)
    return likely / likely.sum(axis=1, keepdims=True)


def _dense(matrix: Any) -> Any:
    """A dense array of the matrix's own library."""
    for method in ("toarray", "to_dense"):  # of SciPy and CuPy, of torch
        if hasattr(matrix, method):
            return getattr(matrix, method)()
    return matrix


def _whole_numbers(matrix: Any) -> Any:
    return matrix.astype(np.int64) if isinstance(matrix, np.ndarray) else matrix
