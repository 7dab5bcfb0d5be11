"""`SWNNClassifier`: the whole method behind scikit-learn's habits, without importing it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from swnn_xp._checks import (
    check_count,
    check_exponent,
    check_names,
    check_threads,
    check_width,
)
from swnn_xp._estimator import Estimator, NotFittedError
from swnn_xp.backends import Index, resolve
from swnn_xp.model.explain import Explanation, explain_label
from swnn_xp.model.model import Model, append, compact, remove
from swnn_xp.model.names import known_names, label_id, more_row_names
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.canonical import label_rows
from swnn_xp.rows.input_kind import host_matrix
from swnn_xp.rows.records import LabelRows, QuantisedRows
from swnn_xp.vote.votes import Votes, above_half, ones, scores, shares

if TYPE_CHECKING:
    from swnn_xp.model.session import Session

GIGABYTE = 10**9


class SWNNClassifier(Estimator):
    """Multi-label classifier by Sparse Weighted Nearest Neighbours.

    The ``n_neighbors`` most similar training rows, by ``Jaccard**beta * cosine``, vote for their
    labels with weight ``similarity**alpha``. There is no training: `fit` builds an index.

    Parameters
    ----------
    n_neighbors : int, default 25
        How many neighbours vote (the paper's S).
    alpha : float, default 1.0
        Exponent of a vote's weight; 0 lets every neighbour count 1.
    beta : float, default 1.0
        Exponent of the Jaccard index; 0 leaves the plain cosine.
    backend : str, default "auto"
        What runs search and vote; see `swnn_xp.backends.BACKENDS`. All give the same answer.
    memory_budget : int, default 10**9
        Bytes that a batch may use for temporaries; queries go in blocks that fit.
    n_jobs : int, default 1
        Threads of a batch, where the backend has threads; -1 means all cores.
    device : optional
        Where the index lives, in the words of the backend: a CUDA device's number for cupy, a name
        such as ``"cuda:1"`` for torch, a device object for array-api. Default: where X is.

    Attributes
    ----------
    model_ : Model
        The training rows, prepared by the backend, and their labels. It is replaced as a whole by
        `partial_fit`, `remove` and `compact`, so that other threads can go on reading.
    n_features_in_ : int
        Width of X.

    Examples
    --------
    >>> from swnn_xp import SWNNClassifier
    >>> X = [[1, 1, 0], [0, 1, 1], [1, 0, 0]]
    >>> Y = [[1, 0], [0, 1], [1, 0]]
    >>> clf = SWNNClassifier(n_neighbors=2).fit(X, Y)
    >>> labels, scores = clf.predict_topk([[1, 1, 0]], k=1)
    >>> labels.tolist()
    [[0]]
    """

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
    ) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.beta = beta
        self.backend = backend
        self.memory_budget = memory_budget
        self.n_jobs = n_jobs
        self.device = device

    def fit(
        self,
        X: Any,
        Y: Any,
        *,
        feature_names: list[str] | None = None,
        label_names: list[str] | None = None,
        row_names: list[str] | None = None,
    ) -> Self:
        """Index the training rows.

        Parameters
        ----------
        X : sparse or dense matrix (n_rows, n_features)
        Y : sparse or dense 0/1 matrix (n_rows, n_labels)
        feature_names, label_names, row_names : list of str, optional
            Names for people, used by `explain` and the command line.

        Returns
        -------
        SWNNClassifier
            Itself.
        """
        self._check_params()
        kind = resolve(self.backend, X).load()
        rows, labels = _training_rows(kind, X, Y, self.device)
        names = known_names(
            feature_names=check_names(feature_names, rows.n_features, "feature_names"),
            label_names=check_names(label_names, labels.n_labels, "label_names"),
            row_names=check_names(row_names, rows.n_rows, "row_names"),
        )
        index = kind.build(rows, **self._options())
        self.n_features_in_ = rows.n_features
        self.model_ = Model(index, labels, next_id=rows.n_rows, names=names)
        return self

    def partial_fit(
        self,
        X: Any,
        Y: Any,
        *,
        label_names: list[str] | None = None,
        row_names: list[str] | None = None,
    ) -> Self:
        """Append training rows; they are found by the next query.

        Parameters
        ----------
        X : matrix (n_new, n_features)
            At most as many features as at `fit`.
        Y : matrix (n_new, n_labels)
            It may be wider than before: the new columns are new labels.
        label_names : list of str, optional
            Names of all labels, if the model has names and Y brings new labels.
        row_names : list of str, optional
            Names of the new rows.

        Returns
        -------
        SWNNClassifier
            Itself. The new rows have the ids that follow the largest one given so far.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, Y, label_names=label_names, row_names=row_names)
        rows, labels = _training_rows(self.index_.kind, X, Y, self.device)
        check_width(rows.n_features, self.n_features_in_)
        rows = rows._replace(n_features=self.n_features_in_)
        model = self.model_
        width = max(model.labels.n_labels, labels.n_labels)
        if self.label_names_ is not None and width > self.n_labels_ and label_names is None:
            raise ValueError(f"Y brings new labels: label_names must name all {width}")
        added = check_names(row_names, rows.n_rows, "row_names")
        names = known_names(
            feature_names=self.feature_names_,
            label_names=check_names(label_names, width, "label_names") or self.label_names_,
            row_names=more_row_names(self.row_names_, model.next_id, added, rows.n_rows),
        )
        self.model_ = append(model, rows, labels, names, **self._options())
        return self

    def remove(self, ids: Any) -> Self:
        """Remove training rows by id; the ids of the others stay, and none is given twice."""
        self._check_fitted()
        self.model_ = remove(self.model_, ids)
        return self

    def compact(self) -> Self:
        """Index the remaining rows anew in one piece: as fast and small as after `fit`."""
        self._check_fitted()
        self.model_ = compact(self.model_, **self._options())
        return self

    @property
    def index_(self) -> Index:
        """The backend's index over the training rows."""
        return self.model_.index

    @property
    def labels_(self) -> LabelRows:
        """The labels of the training rows, by place in the index."""
        return self.model_.labels

    @property
    def n_labels_(self) -> int:
        """Number of labels."""
        return self.model_.labels.n_labels

    @property
    def feature_names_(self) -> list[str] | None:
        """Names of the features, if given to `fit`."""
        return self.model_.names.get("feature_names")

    @property
    def label_names_(self) -> list[str] | None:
        """Names of the labels, if given."""
        return self.model_.names.get("label_names")

    @property
    def row_names_(self) -> list[str] | None:
        """Names of the training rows by id, if given."""
        return self.model_.names.get("row_names")

    def kneighbors(self, X: Any, n_neighbors: int | None = None) -> Neighbours:
        """Find the most similar training rows.

        Returns
        -------
        Neighbours
            ``ids`` and ``sims``, each (n_queries, n_neighbors), best first; places without a
            neighbour hold id -1 and similarity 0.
        """
        self._check_fitted()
        self._check_params()
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        check_count(wanted, "n_neighbors")
        model = self.model_
        found = model.search(self._queries(X), int(wanted), float(self.beta))
        return Neighbours(*model.index.like(X, *model.with_ids(found)))

    def predict_topk(self, X: Any, k: int = 5) -> Ranking:
        """Rank the labels of each row.

        Returns
        -------
        Ranking
            ``labels`` and ``scores``, each (n_queries, k), best first; places without a label
            hold -1 and score 0.
        """
        self._check_fitted()
        self._check_params()
        check_count(k, "k")
        queries, model = self._queries(X), self.model_
        best = model.rank(
            queries, int(self.n_neighbors), float(self.alpha), float(self.beta), int(k)
        )
        return Ranking(*model.index.like(X, *best))

    def decision_function(self, X: Any) -> Any:
        """Scores of all labels that got a vote, as a sparse matrix (n_queries, n_labels).

        The matrix is of X's kind: SciPy for SciPy and NumPy, ``cupyx`` for CuPy, sparse CSR for
        torch; dense for other array-API namespaces, which have no sparse matrices.
        """
        return self._vote_matrix(X, scores)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of labels: the share of the neighbours' weight that voted for each."""
        return self._vote_matrix(X, shares)

    def predict(self, X: Any) -> Any:
        """Labels with a probability above one half, as a sparse 0/1 matrix."""
        return self._vote_matrix(X, ones, above_half)

    def score(self, X: Any, Y: Any) -> float:
        """Precision at 1: the share of rows whose best label is right."""
        from swnn_xp.metrics import precision_at_k

        best = self.predict_topk(X, k=1).labels
        return precision_at_k(host_matrix(Y), host_matrix(best), k=1)

    def session(self, *, budget: int | None = None) -> Session:
        """Open a session for real-time answers, one row at a time, on one thread each.

        Parameters
        ----------
        budget : int, optional
            Compare at most so many training rows in full for a query: faster, but not exact. The
            session's ``might`` tells how many rows were left open.

        Examples
        --------
        >>> clf = SWNNClassifier().fit([[1, 0], [0, 1]], [[1, 0], [0, 1]])
        >>> labels, scores = clf.session().predict_one([0], [2.0], k=1)
        >>> labels.tolist()
        [0]
        """
        from swnn_xp.model.session import Session

        self._check_fitted()
        self._check_params()
        return Session(self, budget=budget)

    def explain(self, x: Any, label: int | str) -> Explanation:
        """Tell which neighbours voted for a label, and which features they share with the row.

        Parameters
        ----------
        x : one row, as a matrix (1, n_features) or a 1-D dense array
        label : int or str
            Label id, or its name if names were given to `fit`.
        """
        self._check_fitted()
        self._check_params()
        row = host_matrix(x)
        row = row if sp.issparse(row) else np.atleast_2d(np.asarray(row))
        if row.shape[0] != 1:
            raise ValueError(f"explain takes one row, got {row.shape[0]}")
        return explain_label(self, row, self.label_id(label))

    def label_id(self, label: int | str) -> int:
        """Turn a label's name or id into its id, or say that there is no such label."""
        self._check_fitted()
        return label_id(label, self.label_names_, self.n_labels_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a folder (arrays and a manifest, no pickle)."""
        from swnn_xp.model.files import save_model

        self._check_fitted()
        save_model(self, path)

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
            Check every array against its checksum first.
        **params
            Parameters that replace the saved ones, such as ``n_neighbors`` or ``backend``.
        """
        from swnn_xp.model.files import load_model

        return load_model(cls, path, mmap=mmap, verify=verify, **params)

    def _queries(self, X: Any) -> QuantisedRows:
        rows = self.index_.queries(X)
        check_width(rows.n_features, self.n_features_in_)
        return rows._replace(n_features=self.n_features_in_)

    def _vote_matrix(
        self,
        X: Any,
        values: Callable[[Votes], Any],
        choose: Callable[[Votes], Votes] = lambda votes: votes,
    ) -> Any:
        self._check_fitted()
        self._check_params()
        # One model from start to end: another thread may replace the classifier's meanwhile.
        model, queries = self.model_, self._queries(X)
        votes = model.vote(queries, int(self.n_neighbors), float(self.alpha), float(self.beta))
        votes = choose(votes)
        width = model.labels.n_labels
        return model.index.matrix(X, votes.indptr, votes.labels, values(votes), width)

    def _options(self) -> dict[str, Any]:
        return {
            "memory_budget": self.memory_budget,
            "n_jobs": check_threads(self.n_jobs),
            "device": self.device,
        }

    def _check_params(self) -> None:
        check_count(self.n_neighbors, "n_neighbors")
        check_exponent(self.alpha, "alpha")
        check_exponent(self.beta, "beta")
        check_count(self.memory_budget, "memory_budget")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this SWNNClassifier is not fitted yet; call fit(X, Y) first")


def _training_rows(
    kind: type[Index], X: Any, Y: Any, device: Any
) -> tuple[QuantisedRows, LabelRows]:
    rows, labels = kind.prepare(X, "X", device), label_rows(host_matrix(Y), "Y")
    if rows.n_rows != labels.n_rows:
        raise ValueError(f"X has {rows.n_rows} rows but Y has {labels.n_rows}")
    if rows.n_rows == 0:
        raise ValueError("X has no rows: there is nothing to learn from")
    return rows, labels
