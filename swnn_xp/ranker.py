"""`SWNNRanker`: neighbours find the labels that can matter, linear models rank them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from swnn_xp.checks import (
    check_count,
    check_exponent,
    check_flag,
    check_names,
    check_part,
    check_positive,
    check_search,
    check_seed,
    check_threshold,
    to_python_scalar,
)
from swnn_xp.estimator import GIGABYTE, NeighbourEstimator
from swnn_xp.learn.centroids import Centroids
from swnn_xp.learn.compression import prepare_again, train_part
from swnn_xp.learn.explain import RankedExplanation
from swnn_xp.learn.label_names import NO_NAMES, LabelFeatures, Vocabulary
from swnn_xp.learn.label_names import label_features as as_label_features
from swnn_xp.learn.neighbours import by_id
from swnn_xp.learn.ranking import CandidateRanking, ranking_of
from swnn_xp.learn.relearn import relearn_labels
from swnn_xp.learn.settings import Auto, TrainingSettings
from swnn_xp.learn.staleness import Staleness, staleness, trained_now
from swnn_xp.learn.train import SearchBackend, check_rare_labels, prepare
from swnn_xp.model.changes import compact
from swnn_xp.model.files import SavedModel
from swnn_xp.model.model import LabelRanking, Model, extend_label_uris, known_names, label_id
from swnn_xp.progress import StageProgress
from swnn_xp.rows.canonical import exact_values
from swnn_xp.rows.excluded import excluded_labels
from swnn_xp.rows.input_kind import host_array
from swnn_xp.rows.records import LabelRows, ValueRows

_TRAINED_PARAMS = (
    "n_neighbors", "alpha", "beta", "n_candidates", "C", "vote_weight", "learn_weights",
    "centroids", "rare_labels", "calibrate", "random_state", "keep", "search",
)  # fmt: skip


class SWNNRanker(NeighbourEstimator):
    """Multi-label classifier that ranks the labels of Sparse Weighted Nearest Neighbours.

    The most similar training rows, compared by learned feature weights, vote for candidate labels.
    For each label a linear model, trained in seconds on the rows that had it as a candidate,
    corrects the vote.

    Parameters
    ----------
    n_neighbors : int or "auto", default "auto"
        How many neighbours vote: 75, or 100 where few of a row's labels are candidates.
    alpha : float, default 1.0
        Exponent of a vote's weight.
    beta : float, default 1.0
        Exponent of the Jaccard index.
    n_candidates : int or "auto", default "auto"
        How many labels of a row are ranked: 100, or 200 where few of its labels are candidates.
    C : float or "auto", default "auto"
        How closely label models fit: 0.2 to 0.55, larger where the vote agrees with the labels.
    vote_weight : float or "auto", default "auto"
        Weight of the vote beside a label model: 0.4 to 0.65, smaller where the vote agrees with
        the labels.
    learn_weights : bool, default True
        Learn feature weights, and search with them if rows left out of the learning are ranked as
        well or better; likewise, for rows of 40 features and more, scale label models by them.
    centroids : bool or "auto", default "auto"
        Let labels compete, too, that no neighbour has but whose own rows, added up to a centroid,
        are like the row. Centroids are those of the training until `relearn`. "auto" uses them if
        rows left out of the training are ranked better with them, and making them takes at most
        about 4 GB of memory.
    rare_labels : float, default 0.0
        Weight of rarity, minus the logarithm of a label's propensity, in scores; try 0.25.
    calibrate : bool, default True
        Fit probabilities on rows that are left out of the label models for it; without it, a
        probability is ``(score + 1) / 2`` and underconfident.
    threshold : "f1" or float, default "f1"
        What `predict` predicts: "f1" takes the score that gave the best micro-F1 on those rows; a
        number is the probability to be passed, 0.5 being the paper's rule.
    keep : float, default 1.0
        Part of the rows that the index keeps: answers are faster, and the model smaller. Label
        models learn from all rows. A row that is kept stands for those most like it and votes for
        their labels, too.
    random_state : int, default 0
        Seed; the same seed gives the same model, whatever the number of threads.
    search : "exact", "capped", "auto" or int, default "auto"
        How neighbours are found, in training and by default in queries. "capped": among the rows in
        the postings of a row's rarest features, as many as stay within 5,000, or within the number
        given; the cost hardly grows with the rows, but better neighbours may be missing. "auto":
        capped from 100,000 rows on, if that costs less than 0.2 points of precision on rows left
        out of the learning of feature weights and the backend is numba, which searches within a cap
        for all others; else exact.
    backend : str, default "auto"
        What runs the search; see `swnn_xp.backends.BACKENDS`. Label models are trained on the CPU.
    memory_budget : int, default 10**9
        Bytes that a batch may use for temporaries.
    n_jobs : int, default 1
        Threads; -1 means all cores.
    device : optional
        Where the index lives; see `SWNNClassifier`.
    allow_narrower : bool, default False
        Take a matrix with fewer columns than at `fit`; see `SWNNClassifier`.

    Attributes
    ----------
    feature_weights_ : float64 array (n_features,) or None
        Learned factors of the features; None if the search uses none.
    weights_used_ : str
        What uses them: "none", "search", or "search and label models".
    centroids_ : bool
        Whether label centroids are used.
    names_used_ : bool
        Whether labels are found by name: not without ``label_features``, nor if rows left out of
        the training are ranked worse with them. Names that are not used are not kept.
    n_neighbors_, n_candidates_, C_, vote_weight_ : int, int, float, float
        The values chosen where "auto" was given.
    candidate_recall_ : float
        Share of the training rows' labels among their first 50 candidates.
    search_ : "exact" or int
        How neighbours are found: exactly, or within a cap on postings.
    cap_cost_ : float or None
        Points of precision (mean of P@1, P@3, P@5) that a cap costs on rows left out; None where
        ``search="auto"`` did not try it.
    staleness_ : Staleness
        What has changed since labels were trained.
    n_features_in_, n_labels_, n_samples_fit_, label_counts_, backend_
        As for `SWNNClassifier`.

    Notes
    -----
    `partial_fit` and `remove` change which rows vote at once; label models stay as they are until
    `relearn`. A new label competes by its votes from its first row. The model keeps the values of
    its rows for that: 1 byte each if all are whole numbers up to 255, else 4 or 8.

    Examples
    --------
    >>> from swnn_xp import SWNNRanker
    >>> X = [[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]] * 5
    >>> y = [[1, 0], [0, 1], [1, 0], [0, 1]] * 5
    >>> clf = SWNNRanker(n_neighbors=3).fit(X, y)
    >>> clf.predict_topk([[1, 1, 0]], k=1).labels.tolist()
    [[0]]
    """

    saved_as = "swnn-ranker"
    answer_params = (*_TRAINED_PARAMS, "backend", "device")

    def __init__(
        self,
        n_neighbors: int | Auto = "auto",
        alpha: float = 1.0,
        beta: float = 1.0,
        *,
        n_candidates: int | Auto = "auto",
        C: float | Auto = "auto",
        vote_weight: float | Auto = "auto",
        learn_weights: bool = True,
        centroids: bool | Auto = "auto",
        rare_labels: float = 0.0,
        calibrate: bool = True,
        keep: float = 1.0,
        threshold: float | Literal["f1"] = "f1",
        random_state: int = 0,
        search: Literal["exact", "capped"] | Auto | int = "auto",
        backend: str = "auto",
        memory_budget: int = GIGABYTE,
        n_jobs: int = 1,
        device: Any = None,
        allow_narrower: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.beta = beta
        self.n_candidates = n_candidates
        self.C = C
        self.vote_weight = vote_weight
        self.learn_weights = learn_weights
        self.centroids = centroids
        self.rare_labels = rare_labels
        self.calibrate = calibrate
        self.keep = keep
        self.threshold = threshold
        self.random_state = random_state
        self.search = search
        self.backend = backend
        self.memory_budget = memory_budget
        self.n_jobs = n_jobs
        self.device = device
        self.allow_narrower = allow_narrower

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        *,
        feature_names: list[str] | None = None,
        label_names: list[str] | None = None,
        row_names: list[str] | None = None,
        vectorizer: Any = None,
        label_features: Any = None,
        label_of: Any = None,
        exclude: Any = None,
    ) -> Self:
        """Train on rows; shows progress on a terminal.

        Parameters
        ----------
        X : sparse or dense matrix (n_rows, n_features), or texts
        y : labels of the rows, as for `SWNNClassifier.fit`
        feature_names, label_names, row_names : list of str, optional
            Names for people, used by `explain` and the command line.
        vectorizer : TfidfVectorizer or TextVectorizer, optional
            What turned, or is to turn, texts into the rows X, which may be a list of texts. The
            model keeps it and takes texts from then on; its terms are the feature names. Texts
            without one are turned into rows as ``swnn fit --text`` does: by
            ``TfidfVectorizer(sublinear_tf=True)``.
        label_features : matrix, "names", or a list with the names of each label, optional
            What is known of the labels themselves, so that a row that names a label may get it,
            even if no training row has it. A sparse matrix (n_labels, n_features) has the words of
            each label's name as features of X. "names" stands for ``label_names``; their words,
            and those of a list with a name or a list of names for each label, are looked up by the
            vectorizer or among ``feature_names``.
        label_of : array of int, optional
            Whose name each row of the matrix is, if labels have several; the best match counts.
        exclude : sparse 0/1 matrix (n_rows, n_labels) or pairs of a row and a label, optional
            Labels that a row must not get, as for `predict_topk`: they teach nothing.

        Returns
        -------
        self

        Examples
        --------
        A label without rows is found by its name:

        >>> from swnn_xp import SWNNRanker
        >>> texts = ["red wine", "white wine", "dark ale", "pale ale"] * 5
        >>> y = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]] * 5
        >>> clf = SWNNRanker(n_neighbors=3).fit(texts, y, label_names=["wine", "ale", "pale"],
        ...                                     label_features="names")
        >>> 2 in clf.predict_topk(["pale ale"], k=3).labels
        True
        """
        data = self._training_data(
            X, y, feature_names=feature_names, label_names=label_names, row_names=row_names,
            vectorizer=vectorizer,
        )  # fmt: skip
        rows = data.rows._replace(
            **{n: host_array(getattr(data.rows, n)) for n in ("indptr", "indices", "values")}
        )
        backend = SearchBackend(data.index_class, data.placement, self.options)
        label_names = data.names.get("label_names")
        given = None
        if label_features is not None:
            given = as_label_features(
                label_features, label_of, data.labels.n_labels, rows.n_features, label_names,
                lambda: Vocabulary.of(data.names.get("feature_names"), data.vectorizer),
            )  # fmt: skip
        elif label_of is not None:
            raise ValueError("label_of goes with label_features")
        excluded = None
        if exclude is not None:
            excluded = excluded_labels(exclude, rows.n_rows, data.labels.n_labels)
        model = self._train(rows, data.labels, backend, data.names, given, excluded)
        self._set_model(replace(model, vectorizer=data.vectorizer, targets=data.targets))
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        classes: Any = None,
        label_names: list[str] | None = None,
        row_names: list[str] | None = None,
        label_features: Any = None,
        label_of: Any = None,
    ) -> Self:
        """Append training rows; the next query finds them. See `NeighbourEstimator.partial_fit`.

        Parameters
        ----------
        X, y, classes, label_names, row_names
            As for `SWNNClassifier.partial_fit`.
        label_features, label_of : optional
            At the first call those of `fit`. Later they are of the new labels only, if y brings
            any: ``label_of`` counts these from 0. Without them, new labels are found by their
            ``label_names``, if the model finds labels by name.
        """
        return self._append(
            X, y, classes, label_names=label_names, row_names=row_names,
            label_features=label_features, label_of=label_of,
        )  # fmt: skip

    def _append_rows(self, model: Model, X: Any, y: Any, **names: Any) -> Model:
        grown = super()._append_rows(model, X, y, **names)
        n_new = grown.labels.n_labels - model.labels.n_labels
        return _with_names(grown, n_new, names["label_features"], names["label_of"])

    def add_labels(
        self, names: list[str] | None = None, *, label_features: Any = None, label_of: Any = None
    ) -> Self:
        """Add labels that no row has yet; queries find them by their names at once.

        Parameters
        ----------
        names : list of str
            Names of the new labels; None if the model's labels have none.
        label_features : matrix or a list with the names of each label, optional
            As for `fit`, of the new labels; default: their names.
        label_of : array of int, optional
            As for `fit`; new labels count from 0.

        Returns
        -------
        self
            The new labels have the ids that follow the largest one.

        Examples
        --------
        >>> from swnn_xp import SWNNRanker
        >>> texts = ["red wine", "white wine", "dark ale", "pale ale"] * 5
        >>> y = [[1, 0], [1, 0], [0, 1], [0, 1]] * 5
        >>> clf = SWNNRanker(n_neighbors=3)
        >>> clf = clf.fit(texts, y, label_names=["wine", "ale"], label_features="names")
        >>> clf.add_labels(["dark"]).predict_names(["dark ale"], k=2)
        [['ale', 'dark']]
        """
        if names is None and label_features is None:
            raise ValueError("new labels need names or label_features")
        self.current_model()
        self._update_model(lambda model: _with_labels(model, names, label_features, label_of))
        return self

    def relearn(self, labels: Iterable[int | str] | Literal["all"] | None = None) -> Self:
        """Train labels again on the current rows.

        Rows that `partial_fit` adds vote at once, but label models know nothing of them until they
        are trained again. Each label gets the model that training everything on the current rows
        would give it, to the last bit, if feature weights, vote score and the choice
        of C did not change; they stay as they are, and so do probabilities. The time grows with the
        rows that changed and with the rows that have one of the labels as a candidate.

        Label models learn from all rows. A model of which a part of the rows was kept (``keep``)
        no longer has the others, so it can't learn again: fit it on all rows instead.

        Parameters
        ----------
        labels : ids or names of labels, "all" or None
            None: the labels whose rows have changed; see `staleness_`. "all": train everything,
            feature weights and probabilities too; the answers are then those of `fit` on the rows
            that are left, to the last bit, and rows keep their ids.

        Returns
        -------
        self

        Examples
        --------
        >>> from swnn_xp import SWNNRanker
        >>> X, y = [[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]] * 5, [[1, 0], [0, 1]] * 10
        >>> clf = SWNNRanker(n_neighbors=3).fit(X, y).partial_fit([[1, 1, 1]] * 2, [[0, 0, 1]] * 2)
        >>> clf.relearn().staleness_.labels.tolist()
        []
        """
        model = self.current_model()
        if self.keep < 1:
            raise ValueError(
                f"label models learn from all rows, but the ranker kept a part (keep={self.keep:g})"
                " and the others are gone: call fit with all rows"
            )
        if isinstance(labels, str):
            if labels != "all":
                raise ValueError(f"labels must be 'all', None or a list of labels, got {labels!r}")
            self._replace_model(model, self._refitted(model), "relearn")
            return self
        wanted = np.zeros(model.labels.n_labels, bool)
        wanted[_staleness(model).labels if labels is None else _ids(model, labels)] = True
        if wanted.any():
            with StageProgress() as progress:
                trained = relearn_labels(model, wanted, self.training_settings(), progress.show)
            self._replace_model(model, trained, "relearn")
        return self

    @property
    def staleness_(self) -> Staleness:
        """What has changed since labels were trained."""
        return _staleness(self.model_)

    def compress(self, keep: float) -> Self:
        """Leave this part of the rows in the index, and train again on all of them."""
        model = self.current_model()
        check_part(keep, "keep")
        if self.keep < 1:
            raise ValueError(
                f"already compressed (keep={self.keep:g}): fit again to keep another part"
            )
        backend = SearchBackend(type(model.segments[0]), model.placement, self.options)
        ready = prepare_again(model, self.training_settings(), backend)
        with StageProgress() as progress:
            small = train_part(ready, backend, float(keep), progress.show)
        record = self._with_training_record(small, keep)
        self._replace_model(model, record, "compress", keep=keep)
        return self

    def explain(self, x: Any, label: int | str) -> RankedExplanation:
        """Show how much of a label's score is the vote, its name or centroid, and its model.

        Parameters
        ----------
        x : one row, as a matrix (1, n_features), a 1-D dense array, or a text
        label : int or str
            Label id, or its name if names were given to `fit`.
        """
        explanation: RankedExplanation = self._explained(x, label)
        return explanation

    @property
    def n_neighbors_(self) -> int:
        """Number of neighbours that vote."""
        return self._ranking().selection.cuts[-1]

    @property
    def n_candidates_(self) -> int:
        """Number of labels that are ranked for a row."""
        return self._ranking().selection.n_candidates

    @property
    def C_(self) -> float:
        """How closely the label models were fitted."""
        return self._ranking().descent_params.C

    @property
    def vote_weight_(self) -> float:
        """Weight of the vote beside a label model."""
        return self._ranking().descent_params.vote_weight

    @property
    def candidate_recall_(self) -> float:
        """Share of the training rows' labels among their first 50 candidates."""
        return self._ranking().recall

    @property
    def weights_used_(self) -> Literal["none", "search", "search and label models"]:
        """What uses feature weights."""
        if self.feature_weights_ is None:
            return "none"
        return "search and label models" if self._ranking().descent_params.scale_power else "search"

    @property
    def names_used_(self) -> bool:
        """Whether labels are found by name."""
        return self._ranking().names is not None

    @property
    def search_(self) -> Literal["exact"] | int:
        """How neighbours are found."""
        return self._ranking().postings or "exact"

    @property
    def cap_cost_(self) -> float | None:
        """Points of precision that a cap costs, if ``search="auto"`` tried it."""
        return self._ranking().cap_cost

    @property
    def centroids_(self) -> bool:
        """Whether label centroids are used."""
        return any(source.name == Centroids.name for source in self._ranking().sources)

    def training_settings(self) -> TrainingSettings:
        """The parameters as settings of the training."""
        options = self.options
        return TrainingSettings(
            n_neighbors=to_python_scalar(self.n_neighbors),
            alpha=float(self.alpha),
            beta=float(self.beta),
            n_candidates=to_python_scalar(self.n_candidates),
            C=to_python_scalar(self.C),
            vote_weight=to_python_scalar(self.vote_weight),
            centroids=to_python_scalar(self.centroids),
            rare_labels=float(self.rare_labels),
            random_state=int(self.random_state),
            calibrate=bool(self.calibrate),
            search=to_python_scalar(self.search),
            n_jobs=options.n_jobs,
            memory_budget=options.memory_budget,
        )

    def check_params(self) -> None:
        """Raise ValueError if a parameter has a value that it can't have."""
        check_exponent(self.alpha, "alpha")
        check_exponent(self.beta, "beta")
        for name in ("n_neighbors", "n_candidates"):
            if getattr(self, name) != "auto":
                check_count(getattr(self, name), name)
        if self.C != "auto":
            check_positive(self.C, "C")
        if self.vote_weight != "auto":
            check_exponent(self.vote_weight, "vote_weight")
        check_flag(self.learn_weights, "learn_weights")
        check_flag(self.centroids, "centroids", or_auto=True)
        check_rare_labels(self.rare_labels)
        check_flag(self.calibrate, "calibrate")
        check_threshold(self.threshold)
        check_seed(self.random_state)
        check_part(self.keep, "keep")
        check_search(self.search)
        self._check_execution_params()

    def _train(
        self,
        rows: ValueRows,
        labels: LabelRows,
        backend: SearchBackend,
        names: Mapping[str, list[str]],
        label_features: LabelFeatures | None,
        excluded: LabelRows | None,
    ) -> Model:
        """Train everything on rows."""
        with StageProgress() as progress:
            ready = prepare(
                rows, labels, self.training_settings(), backend, progress.show,
                weighted=self.learn_weights, names=names, label_features=label_features,
                excluded=excluded,
            )  # fmt: skip
            model = train_part(ready, backend, float(self.keep), progress.show)
        return self._with_training_record(replace(model, values=exact_values(rows.values)))

    def _with_training_record(self, model: Model, keep: float | None = None) -> Model:
        """Record the parameters and the rows of the training; ``keep`` if it is about to change.

        Where kept rows stand for others, which are not there to learn from, what only serves
        learning goes.
        """
        keep = self.keep if keep is None else keep
        params = self.trained_params() | {"keep": to_python_scalar(keep)}
        ranking = replace(ranking_of(model), params=params, trained=trained_now(model))
        if ranking.known is not None:
            ranking = replace(ranking, known=by_id(model, ranking.known.neighbours))
        if keep < 1:
            return replace(model, ranking=ranking, values=None, excluded=None)
        return replace(model, ranking=ranking)

    def _refitted(self, model: Model) -> Model:
        """Train everything again on the rows that were not removed; they keep their ids."""
        old = compact(model)
        backend = SearchBackend(type(old.segments[0]), old.placement, self.options)
        names = ranking_of(old).names
        given = None if names is None else names.given
        rows, labels = old.value_rows(), old.checked_labels
        new = self._train(rows, labels, backend, old.names, given, old.excluded)
        new = replace(
            old,
            segments=new.segments,
            feature_weights=new.feature_weights,
            ranking=new.ranking,
            version=model.version + 1,
            untrusted=False,
        )
        return self._with_training_record(new)

    def trained_params(self) -> dict[str, Any]:
        """Parameters that take part in the training."""
        return {name: to_python_scalar(getattr(self, name)) for name in _TRAINED_PARAMS}

    def saved_params(self, model: Model) -> dict[str, Any]:
        """Parameters that a saved model keeps, of types that JSON has."""
        return dict(ranking_of(model).params) | {"threshold": to_python_scalar(self.threshold)}

    def _ranking(self) -> CandidateRanking:
        return ranking_of(self.model_)

    def _current_ranking(self, model: Model) -> LabelRanking:
        """The model's own; ValueError if a parameter is not that of its training."""
        ranking = ranking_of(model)
        for name, value in self.trained_params().items():
            if value != ranking.params.get(name, value):
                raise ValueError(
                    f"{name}={value!r}, but the ranker was trained with "
                    f"{ranking.params[name]!r}: call fit again, or set it back"
                )
        return ranking

    def _saved_ranking(self, saved: SavedModel, model: Model) -> LabelRanking:
        return CandidateRanking.from_saved(saved, model.n_features)


def _staleness(model: Model) -> Staleness:
    trained = ranking_of(model).trained
    assert trained is not None
    return staleness(model, trained)


def _ids(model: Model, labels: Iterable[int | str]) -> NDArray[np.int64]:
    names, n_labels = model.names.get("label_names"), model.labels.n_labels
    return np.asarray([label_id(label, names, n_labels) for label in labels], np.int64)


def _with_labels(
    model: Model, names: list[str] | None, label_features: Any, label_of: Any
) -> Model:
    """The model with further labels, which no row has."""
    old, known = model.labels.n_labels, model.names.get("label_names")
    if (names is None) != (known is None):
        which = "names, so new labels need them" if names is None else "no names, nor may new ones"
        raise ValueError(f"the model's labels have {which}")
    if model.targets.values is not None:
        raise ValueError("the model's labels are numbers: new ones come with rows, in partial_fit")
    if names is not None:
        if clash := sorted(set(names) & set(known or ())):
            raise ValueError(f"there is a label {clash[0]!r} already")
        n_new = len(names)
    elif label_of is None:
        n_new = _n_given(label_features)
    else:
        n_new = int(np.max(label_of, initial=-1)) + 1
    width = old + n_new
    joined = None if names is None else check_names([*(known or ()), *names], width, "names")
    uris = extend_label_uris(model.names.get("label_uris"), joined, width)
    grown = replace(
        model,
        labels=model.checked_labels._replace(n_labels=width),
        names=dict(model.names) | known_names(label_names=joined, label_uris=uris),
        version=model.version + 1,
        untrusted=False,
    )
    return _with_names(grown, n_new, label_features, label_of)


def _n_given(label_features: Any) -> int:
    return len(label_features) if isinstance(label_features, list) else label_features.shape[0]


def _with_names(model: Model, n_new: int, label_features: Any, label_of: Any) -> Model:
    """The model, with what is known of its last labels, which are new."""
    ranking = ranking_of(model)
    old, given = ranking.names, label_features
    names = model.names.get("label_names")
    if old is None:
        if label_features is None:
            return model
        raise ValueError(
            "the model does not find labels by name: fit it with label_features, which are not "
            "kept where held-out rows lose by them"
        )
    if given is None and n_new and names is not None:
        known = model.vectorizer is not None or "feature_names" in model.names
        given = "names" if known else None
    if not n_new:
        if given is None:
            return model
        raise ValueError("label_features are those of new labels, but there are none")
    added = NO_NAMES
    if given is not None:
        first = model.labels.n_labels - n_new
        added = as_label_features(
            given, label_of, n_new, model.n_features, names and names[first:],
            lambda: Vocabulary.of(model.names.get("feature_names"), model.vectorizer),
        )  # fmt: skip
        added = added._replace(labels=(added.labels + first).astype(np.int32))
    counts = model.label_counts[model.labels.n_labels - n_new :]
    return replace(model, ranking=ranking.with_source(old.extended(added, counts)))
