"""`SWNNRanker`: neighbours find the labels that can matter, linear models rank them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from swnn_xp._neighbour_estimator import all_names, check_training_rows
from swnn_xp._relearning import RelearningEstimator
from swnn_xp.backends import Settings, resolve
from swnn_xp.checks import (
    check_count,
    check_exponent,
    check_flag,
    check_part,
    check_positive,
    check_seed,
    check_threshold,
    column_names,
    plain,
)
from swnn_xp.learn.calibration import by_label, ones, positive, probability, with_probabilities
from swnn_xp.learn.compression import prepare_again, train_part
from swnn_xp.learn.explain import RankedExplanation, explain_ranking
from swnn_xp.learn.ranking import rank_found
from swnn_xp.learn.records import Learned, learned_from, stored_learned
from swnn_xp.learn.settings import Auto, TrainingSettings
from swnn_xp.learn.train import Machine, check_rare_labels
from swnn_xp.model.explain import one_row
from swnn_xp.model.files import Extra, SavedModel
from swnn_xp.model.model import Model, label_id
from swnn_xp.model.predictions import MatrixOf
from swnn_xp.model.targets import encode_labels
from swnn_xp.progress import StageProgress
from swnn_xp.results import RankedProbabilities, Ranking
from swnn_xp.rows.canonical import canonical_rows
from swnn_xp.rows.input_kind import host_matrix
from swnn_xp.search import in_slots
from swnn_xp.text.vectorizer import fit_vectorizer, term_names

if TYPE_CHECKING:
    from swnn_xp.learn.session import RankingSession

GIGABYTE = 10**9
_LEARNED_PARAMS = (
    "n_neighbors", "alpha", "beta", "n_candidates", "C", "vote_weight", "feature_weights",
    "rare_labels", "calibrate", "random_state", "keep",
)  # fmt: skip


class SWNNRanker(RelearningEstimator):
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
    feature_weights : bool, default True
        Learn feature weights for the search.
    rare_labels : float, default 0.0
        Weight of rarity, minus the logarithm of a label's propensity, in scores; try 0.25.
    calibrate : bool, default True
        Fit probabilities on rows that are left out of the label models for it; without it, a
        probability is ``(score + 1) / 2`` and too timid.
    threshold : "f1" or float, default "f1"
        What `predict` predicts: "f1" takes the score that gave the best micro-F1 on those rows; a
        number is the probability to be passed, 0.5 being the paper's rule.
    keep : float, default 1.0
        Part of the rows that the index keeps: answers are faster, and the model smaller. Label
        models learn from all rows. A row that is kept stands for those most like it and votes for
        their labels, too.
    random_state : int, default 0
        Seed; the same seed gives the same model, whatever the number of threads.
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
        Learned factors of the features.
    n_neighbors_, n_candidates_, C_, vote_weight_ : int, int, float, float
        What "auto" has become.
    candidate_recall_ : float
        Share of the training rows' labels among their first 50 candidates.
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

    def __init__(
        self,
        n_neighbors: int | Auto = "auto",
        alpha: float = 1.0,
        beta: float = 1.0,
        *,
        n_candidates: int | Auto = "auto",
        C: float | Auto = "auto",
        vote_weight: float | Auto = "auto",
        feature_weights: bool = True,
        rare_labels: float = 0.0,
        calibrate: bool = True,
        keep: float = 1.0,
        threshold: float | Literal["f1"] = "f1",
        random_state: int = 0,
        backend: str = "auto",
        memory_budget: int = GIGABYTE,
        n_jobs: int = 1,
        device: Any = None,
        allow_narrower: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors  # type: ignore[assignment]
        self.alpha = alpha
        self.beta = beta
        self.n_candidates = n_candidates
        self.C = C
        self.vote_weight = vote_weight
        self.feature_weights = feature_weights
        self.rare_labels = rare_labels
        self.calibrate = calibrate
        self.keep = keep
        self.threshold = threshold
        self.random_state = random_state
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
    ) -> Self:
        """Train on rows; shows progress on a terminal.

        Parameters
        ----------
        X : sparse or dense matrix (n_rows, n_features), or texts with a ``vectorizer``
        y : labels of the rows, as for `SWNNClassifier.fit`
        feature_names, label_names, row_names : list of str, optional
            Names for people, used by `explain` and the command line.
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
        labels, targets, found = encode_labels(y, label_names)
        rows = canonical_rows(host_matrix(X), "X")
        check_training_rows(rows.indptr.size - 1, labels.n_rows)
        features = term_names(text, feature_names) or column_names(X)
        names = all_names(rows, labels, features, found or label_names, row_names)
        machine = Machine(index_class, placement, self._options())
        model = self._train(rows, labels, machine, names)
        self._model = replace(model, vectorizer=text, targets=targets)
        return self

    def compress(self, keep: float) -> Self:
        """Leave this part of the rows in the index, and train again on all of them."""
        model = self._current_model()
        check_part(keep, "keep")
        if self.keep < 1:
            raise ValueError("the rows stand for others already; fit again to keep another part")
        machine = Machine(type(model.segments[0]), model.placement, self._options())
        ready = prepare_again(model, self._training_settings(), machine)
        with StageProgress() as progress:
            small = train_part(ready, machine, float(keep), progress.show)
        self._replace_model(model, self._noted(small, keep), "compress", keep=keep)
        return self

    def predict_topk(self, X: Any, k: int = 5) -> Ranking:
        """Rank the labels of each row.

        Returns
        -------
        Ranking
            ``labels`` and ``scores``, each (n_queries, k), best first; slots without a label hold
            -1 and score 0. A score above 0 means that the label is more likely right than wrong.
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
        model = self._current_model()
        X = self._same_columns(model, X)
        check_count(k, "k")
        best = self._ranked(model, X, model.n_ranked(int(k)))
        likely = with_probabilities(best, model.learned.calibration)
        return RankedProbabilities(*model.placement.as_input_kind(X, *in_slots(int(k), *likely)))

    def explain(self, x: Any, label: int | str) -> RankedExplanation:
        """Show how much of a label's score is the vote, and how much its model.

        Parameters
        ----------
        x : one row, as a matrix (1, n_features), a 1-D dense array, or a text
        label : int or str
            Label id, or its name if names were given to `fit`.
        """
        model = self._current_model()
        wanted = label_id(label, model.names.get("label_names"), model.labels.n_labels)
        row = self._same_columns(model, one_row(model, x))
        return explain_ranking(model, row, wanted, self._settings(model), self._options())

    def session(self, *, budget: int | None = None) -> RankingSession:
        """Open a session for real-time answers; see `SWNNClassifier.session`."""
        from swnn_xp.learn.session import RankingSession

        return RankingSession(self._follower(), budget=budget)

    @property
    def n_neighbors_(self) -> int:
        """Number of neighbours that vote."""
        return self._learned().selection.cuts[-1]

    @property
    def n_candidates_(self) -> int:
        """Number of labels that are ranked for a row."""
        return self._learned().selection.n_candidates

    @property
    def C_(self) -> float:
        """How closely the label models were fitted."""
        return self._learned().rule.C

    @property
    def vote_weight_(self) -> float:
        """Weight of the vote beside a label model."""
        return self._learned().rule.vote_weight

    @property
    def candidate_recall_(self) -> float:
        """Share of the training rows' labels among their first 50 candidates."""
        return self._learned().recall

    def _ranked(self, model: Model, X: Any, k: int) -> Ranking:
        options, learned = self._options(), model.learned
        X = model.rows_of(X)  # once for both
        voters = model.n_voters(learned.selection.cuts[-1])
        found = model.search(model.queries(X), voters, learned.beta, options)
        return rank_found(model, model.queries(X, weighted=False), found, k, options)

    def _ranking(self, model: Model, X: Any, k: int) -> Ranking:
        X = self._same_columns(model, X)
        check_count(k, "k")
        best = self._ranked(model, X, model.n_ranked(int(k)))
        return Ranking(*model.placement.as_input_kind(X, *in_slots(int(k), *best)))

    def _matrices(self, model: Model, X: Any, *wanted: MatrixOf) -> tuple[Any, ...]:
        calibration, n_candidates = model.learned.calibration, model.learned.selection.n_candidates
        labels, scores = self._ranked(model, X, n_candidates)

        def matrix(of: MatrixOf) -> Any:
            values = {"scores": positive, "probabilities": probability, "predicted": ones}[of]
            threshold = self.threshold if of == "predicted" else None
            csr = by_label(labels, scores, values, threshold, calibration)
            return model.placement.as_sparse_like(X, *csr, model.labels.n_labels)

        return tuple(map(matrix, wanted))

    def _learned(self) -> Learned:
        learned: Learned = self._fitted_model().learned
        return learned

    def _training_settings(self) -> TrainingSettings:
        options = self._options()
        return TrainingSettings(
            n_neighbors=plain(self.n_neighbors),
            alpha=float(self.alpha),
            beta=float(self.beta),
            n_candidates=plain(self.n_candidates),
            C=plain(self.C),
            vote_weight=plain(self.vote_weight),
            rare_labels=float(self.rare_labels),
            random_state=int(self.random_state),
            calibrate=bool(self.calibrate),
            n_jobs=options.n_jobs,
            memory_budget=options.memory_budget,
        )

    def _settings(self, model: Model | None = None) -> Settings:
        learned: Learned = (model or self._fitted_model()).learned
        return Settings(learned.selection.cuts[-1], learned.selection.alpha, learned.beta)

    def _check_params(self) -> None:
        check_exponent(self.alpha, "alpha")
        check_exponent(self.beta, "beta")
        for name in ("n_neighbors", "n_candidates"):
            if getattr(self, name) != "auto":
                check_count(getattr(self, name), name)
        if self.C != "auto":
            check_positive(self.C, "C")
        if self.vote_weight != "auto":
            check_exponent(self.vote_weight, "vote_weight")
        check_flag(self.feature_weights, "feature_weights")
        check_rare_labels(self.rare_labels)
        check_flag(self.calibrate, "calibrate")
        check_threshold(self.threshold)
        check_seed(self.random_state)
        check_part(self.keep, "keep")
        self._check_machine()

    def _learned_params(self) -> dict[str, Any]:
        return {name: plain(getattr(self, name)) for name in _LEARNED_PARAMS}

    def _saved_params(self) -> dict[str, Any]:
        return dict(self._learned().params) | {"threshold": plain(self.threshold)}

    def _extra(self, model: Model) -> Extra:
        return stored_learned(model.learned)

    def _with_extra(self, model: Model, saved: SavedModel) -> Model:
        learned = learned_from(saved, model.n_features)
        return replace(model, learned=learned)
