"""Metrics of rankings, as in the Extreme Classification Repository, and F1.

Those that end in ``_at_k`` take the true labels and a ranking (``labels`` of
`SWNNClassifier.predict_topk`, ids best first, -1 where there is none) and return a number between 0
and 1. They are means over all rows, and a row without true labels counts as 0, unless they say
otherwise. Labels that a row must not get, ``exclude`` as for ``predict_topk``, are taken out of its
ranking first: give some labels more than k then, for those behind them move up. `f1_micro` and
`f1_macro` take a matrix of the labels that were predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swnn_xp.checks import check_count, check_exponent
from swnn_xp.rows.canonical import label_rows
from swnn_xp.rows.excluded import excluded_labels, leave_out
from swnn_xp.rows.records import LabelRows

__all__ = [
    "Reliability",
    "coverage_at_k",
    "f1_macro",
    "f1_macro_at_k",
    "f1_micro",
    "f1_micro_at_k",
    "found_by_count",
    "max_precision_at_k",
    "ndcg_at_k",
    "precision_at_k",
    "propensities",
    "propensities_of_counts",
    "psndcg_at_k",
    "psp_at_k",
    "r_precision_at_k",
    "recall_at_k",
    "reliability",
]


def precision_at_k(y_true: Any, labels: ArrayLike, k: int, *, exclude: Any = None) -> float:
    """Share of the first ``k`` labels that are right.

    Examples
    --------
    >>> precision_at_k([[1, 0, 1], [0, 1, 0]], [[0, 1], [2, 1]], k=2)
    0.5
    """
    compared = _compare(y_true, labels, k, exclude)
    return _mean(compared.hits.sum(axis=1) / k)


def max_precision_at_k(y_true: Any, k: int) -> float:
    """Best precision at ``k`` that any ranking could reach: rows may have fewer than k labels.

    Examples
    --------
    >>> max_precision_at_k([[1, 0, 1], [0, 1, 0]], k=2)
    0.75
    """
    check_count(k, "k")
    return _mean(np.minimum(np.diff(label_rows(y_true, "y_true").indptr), k) / k)


def recall_at_k(y_true: Any, labels: ArrayLike, k: int, *, exclude: Any = None) -> float:
    """Share of the true labels that are among the first ``k``.

    Examples
    --------
    >>> recall_at_k([[1, 0, 1], [0, 1, 0]], [[0, 1], [2, 1]], k=2)
    0.75
    """
    compared = _compare(y_true, labels, k, exclude)
    return _mean(compared.hits.sum(axis=1) / np.maximum(np.diff(compared.truth.indptr), 1))


class FoundByCount(NamedTuple):
    """True labels in classes by their number of training rows, as `found_by_count` counts them."""

    n: NDArray[np.int64]
    """(n_classes,): true labels, over all rows."""
    found: NDArray[np.int64]
    """(n_classes,): those of them that were ranked."""


def found_by_count(
    y_true: Any,
    labels: ArrayLike,
    counts: ArrayLike,
    k: int,
    edges: Sequence[int] = (1, 2, 4, 11),
    *,
    exclude: Any = None,
) -> FoundByCount:
    """How many true labels are among the first ``k``, of rare and of frequent labels.

    Parameters
    ----------
    y_true, labels, k, exclude
        As for the other metrics.
    counts : array of int, (n_labels,)
        Training rows of each label, such as ``label_counts_``.
    edges : sequence of int
        Counts at which the next class begins: 0, 1, 2 to 3, 4 to 10, 11 and more.

    Examples
    --------
    >>> found_by_count([[1, 0, 1], [0, 1, 0]], [[0, 1], [2, 1]], [5, 0, 1], k=2)
    FoundByCount(n=array([1, 1, 0, 1, 0]), found=array([1, 0, 0, 1, 0]))
    """
    compared, of_label = _compare(y_true, labels, k, exclude), np.asarray(counts)
    if of_label.shape != (compared.truth.n_labels,):
        raise ValueError(f"counts must have shape ({compared.truth.n_labels},)")
    classes = np.searchsorted(np.asarray(edges), of_label, side="right")

    def count(ids: NDArray[Any]) -> NDArray[np.int64]:
        return np.bincount(classes[ids], minlength=len(edges) + 1)

    return FoundByCount(count(compared.truth.indices), count(compared.labels[compared.hits]))


def r_precision_at_k(y_true: Any, labels: ArrayLike, k: int, *, exclude: Any = None) -> float:
    """Right labels among the first ``k``, relative to the most that the row allows (RP@k).

    A row with n true labels counts as its hits divided by min(k, n). Rows without true labels are
    left out of the mean, as in the evaluation of Chalkidis et al. (2019).

    Examples
    --------
    >>> r_precision_at_k([[1, 0, 1], [0, 1, 0], [0, 0, 0]], [[0, 1], [2, 1], [0, 1]], k=2)
    0.75
    """
    compared = _compare(y_true, labels, k, exclude)
    sizes = np.diff(compared.truth.indptr)
    some = sizes > 0
    return _mean(compared.hits.sum(axis=1)[some] / np.minimum(sizes[some], k))


def ndcg_at_k(y_true: Any, labels: ArrayLike, k: int, *, exclude: Any = None) -> float:
    """Discounted gain of the first ``k`` labels, relative to the best possible order.

    Examples
    --------
    >>> ndcg_at_k([[1, 0, 0]], [[0, 1]], k=2)
    1.0
    """
    compared = _compare(y_true, labels, k, exclude)
    return _mean((compared.hits * _discounts(k)).sum(axis=1) / _ideal_gain(compared.truth, k))


def propensities(y_train: Any, A: float = 0.55, B: float = 1.5) -> NDArray[np.float64]:
    """How likely each label is to be observed where it is relevant (Jain et al. 2016).

    Parameters
    ----------
    y_train : matrix of the training labels
    A, B : float
        0.5, 0.4 for the large Wikipedia sets; 0.6, 2.6 for Amazon-670K and Amazon-3M.

    Examples
    --------
    >>> propensities([[1, 0]] * 8 + [[1, 1]]).round(3).tolist()
    [0.648, 0.455]
    """
    train = label_rows(y_train, "y_train")
    counts = np.bincount(train.indices, minlength=train.n_labels)
    return propensities_of_counts(counts, train.n_rows, A, B)


def propensities_of_counts(
    counts: ArrayLike, n_rows: int, A: float = 0.55, B: float = 1.5
) -> NDArray[np.float64]:
    """Propensities from the number of rows of each label, such as a model's ``label_counts_``.

    Examples
    --------
    >>> propensities_of_counts([9, 1], n_rows=9).round(3).tolist()
    [0.648, 0.455]
    """
    check_exponent(A, "A")
    check_exponent(B, "B")
    counts = np.asarray(counts)
    with np.errstate(all="ignore"):
        C = (np.log(max(n_rows, 1)) - 1) * np.float64(B + 1) ** A
        found = 1 / (1 + C * np.exp(-A * np.log(counts + B)))
    if np.isnan(found).any() or not found.all():
        raise ValueError(f"there are no propensities for A = {A} and B = {B}")
    return found


def psp_at_k(
    y_true: Any, labels: ArrayLike, k: int, propensity: ArrayLike, *, exclude: Any = None
) -> float:
    """Precision at ``k`` with rare labels weighing more, relative to the best attainable.

    Examples
    --------
    >>> psp_at_k([[1, 1]], [[0]], k=1, propensity=[0.5, 0.25])
    0.5
    """
    compared = _compare(y_true, labels, k, exclude)
    gain = 1 / np.asarray(propensity, np.float64)
    reached = (compared.hits * _gains(compared.labels, gain)).sum(axis=1)
    return _ratio(reached, _best_gains(compared.truth, gain, k).sum(axis=1))


def psndcg_at_k(
    y_true: Any, labels: ArrayLike, k: int, propensity: ArrayLike, *, exclude: Any = None
) -> float:
    """Discounted gain with rare labels weighing more, relative to the best attainable.

    Examples
    --------
    >>> psndcg_at_k([[1, 1]], [[1, 0]], k=2, propensity=[0.5, 0.25])
    1.0
    """
    compared = _compare(y_true, labels, k, exclude)
    gain = 1 / np.asarray(propensity, np.float64)
    ideal = _ideal_gain(compared.truth, k)
    reached = (compared.hits * _gains(compared.labels, gain) * _discounts(k)).sum(axis=1)
    best = (_best_gains(compared.truth, gain, k) * _discounts(k)).sum(axis=1)
    return _ratio(reached / ideal, best / ideal)


def coverage_at_k(y_true: Any, labels: ArrayLike, k: int, *, exclude: Any = None) -> float:
    """Share of the labels that occur in ``y_true`` and were rightly predicted at least once.

    Examples
    --------
    >>> coverage_at_k([[1, 0, 1], [0, 1, 0]], [[0, 1], [2, 1]], k=2)
    0.6666666666666666
    """
    compared = _compare(y_true, labels, k, exclude)
    occurring = np.unique(compared.truth.indices).size
    return np.unique(compared.labels[compared.hits]).size / occurring if occurring else 0.0


def f1_micro(y_true: Any, y_pred: Any) -> float:
    """Harmonic mean of precision and recall, over all pairs of a row and a label together.

    Parameters
    ----------
    y_true, y_pred : matrices of the same shape, sparse or dense
        The true and the predicted labels: 1 (or True) where a row has the label. Compare scores
        with a threshold to get a prediction, as below.

    See Also
    --------
    sklearn.metrics.f1_score : equal with ``average="micro", zero_division=0``

    Examples
    --------
    >>> scores = np.array([[0.9, 0.2, 0.4], [0.1, 0.3, 0.8]])
    >>> f1_micro([[1, 0, 1], [0, 1, 1]], scores >= 0.5)
    0.6666666666666666
    """
    return _micro(_predicted_counts(y_true, y_pred))


def f1_macro(y_true: Any, y_pred: Any) -> float:
    """Harmonic mean of precision and recall of each label, averaged over all labels.

    A label that is neither true nor predicted anywhere counts as 0, so labels that do not occur in
    the test set lower the figure.

    Parameters
    ----------
    y_true, y_pred : matrices of the same shape, sparse or dense
        As for `f1_micro`.

    See Also
    --------
    sklearn.metrics.f1_score : equal with ``average="macro", zero_division=0``

    Examples
    --------
    >>> f1_macro([[1, 0, 1], [0, 1, 1]], [[1, 0, 0], [0, 0, 1]])
    0.5555555555555555
    """
    return _macro(_predicted_counts(y_true, y_pred))


def f1_micro_at_k(y_true: Any, labels: ArrayLike, k: int, *, exclude: Any = None) -> float:
    """`f1_micro` of a prediction that consists of the first ``k`` labels of each row.

    Examples
    --------
    >>> f1_micro_at_k([[1, 0, 1], [0, 1, 1]], [[0, 1], [2, -1]], k=1)
    0.6666666666666666
    """
    return _micro(_ranked_counts(y_true, labels, k, exclude))


def f1_macro_at_k(y_true: Any, labels: ArrayLike, k: int, *, exclude: Any = None) -> float:
    """`f1_macro` of a prediction that consists of the first ``k`` labels of each row.

    Examples
    --------
    >>> f1_macro_at_k([[1, 0, 1], [0, 1, 1]], [[0, 1], [2, -1]], k=1)
    0.5555555555555555
    """
    return _macro(_ranked_counts(y_true, labels, k, exclude))


class Reliability(NamedTuple):
    """Predictions by how likely they were said to be, in bins of equal width."""

    n: NDArray[np.int64]
    """Predictions in each bin."""
    said: NDArray[np.float64]
    """Their mean probability; 0 in an empty bin."""
    right: NDArray[np.float64]
    """Share of them that is right."""

    @property
    def error(self) -> float:
        """Mean difference of what was said and what is right, weighted by predictions (ECE)."""
        total = int(self.n.sum())
        return float((self.n * np.abs(self.said - self.right)).sum()) / max(total, 1)


def reliability(
    y_true: Any, labels: ArrayLike, probabilities: ArrayLike, n_bins: int = 10
) -> Reliability:
    """How often predictions of each probability are right, as `topk_probabilities` made them.

    ``error`` of the result is the expected calibration error (ECE).

    Examples
    --------
    >>> found = reliability([[1, 0]], [[0, 1]], [[0.9, 0.3]], n_bins=2)
    >>> found.right.tolist(), round(found.error, 3)
    ([0.0, 1.0], 0.2)
    """
    check_count(n_bins, "n_bins")
    said = np.asarray(probabilities, dtype=np.float64)
    compared = _compare(y_true, labels, np.shape(labels)[-1])
    if said.shape != compared.labels.shape or not np.all((said >= 0) & (said <= 1)):
        raise ValueError("probabilities must lie in 0..1, one for each of the labels")
    there = compared.labels >= 0
    said, hits = said[there], compared.hits[there]
    bins = np.minimum((said * n_bins).astype(np.int64), n_bins - 1)
    n, likely, right = (np.bincount(bins, w, n_bins) for w in (None, said, hits))
    some = np.maximum(n, 1)
    return Reliability(n.astype(np.int64), likely / some, right / some)


class _Counts(NamedTuple):
    """Number of rows of each label."""

    both: NDArray[np.int64]  # that have it and for which it is predicted
    either: NDArray[np.int64]  # sum of those that have it and those for which it is predicted


def _predicted_counts(y_true: Any, y_pred: Any) -> _Counts:
    truth, guess = label_rows(y_true, "y_true"), label_rows(y_pred, "y_pred")
    shape, other = (truth.n_rows, truth.n_labels), (guess.n_rows, guess.n_labels)
    if shape != other:
        raise ValueError(f"y_pred must have the shape {shape} of y_true, got {other}")
    shared = np.intersect1d(_pairs(truth), _pairs(guess), assume_unique=True)
    return _counts(truth, shared % truth.n_labels, guess.indices)


def _ranked_counts(y_true: Any, labels: ArrayLike, k: int, exclude: Any) -> _Counts:
    truth, ranked, hits = _compare(y_true, labels, k, exclude)
    return _counts(truth, ranked[hits], ranked[ranked >= 0])


def _counts(truth: LabelRows, right: NDArray[Any], predicted: NDArray[Any]) -> _Counts:
    def count(ids: NDArray[Any]) -> NDArray[np.int64]:
        return np.bincount(ids, minlength=truth.n_labels)

    return _Counts(count(right), count(truth.indices) + count(predicted))


def _micro(counts: _Counts) -> float:
    total = int(counts.either.sum())
    return 2 * int(counts.both.sum()) / total if total else 0.0


def _macro(counts: _Counts) -> float:
    return _mean(2 * counts.both / np.maximum(counts.either, 1))


class _Compared(NamedTuple):
    """A ranking beside the truth."""

    truth: LabelRows
    labels: NDArray[np.int64]  # (n_rows, k)
    hits: NDArray[np.bool_]  # (n_rows, k)


def _compare(y_true: Any, labels: ArrayLike, k: int, exclude: Any = None) -> _Compared:
    check_count(k, "k")
    truth, ranked = label_rows(y_true, "y_true"), np.asarray(labels)
    if ranked.ndim != 2 or ranked.shape[0] != truth.n_rows:
        raise ValueError(f"labels must have {truth.n_rows} rows, got shape {ranked.shape}")
    if ranked.shape[1] < k:
        raise ValueError(f"labels has {ranked.shape[1]} columns, fewer than k = {k}")
    if ranked.size and not (ranked.min() >= -1 and ranked.max() < truth.n_labels):
        raise ValueError(f"labels must lie in -1..{truth.n_labels - 1}")
    if exclude is not None:
        excluded = excluded_labels(exclude, truth.n_rows, truth.n_labels)
        (ranked,) = leave_out(excluded, k, ranked.astype(np.int64))
    ranked = ranked[:, :k].astype(np.int64)
    known = _pairs(truth)
    asked = np.arange(truth.n_rows)[:, None] * truth.n_labels + ranked
    at = np.searchsorted(known, asked)
    hits = np.zeros(ranked.shape, bool)
    inside = (at < known.size) & (ranked >= 0)
    hits[inside] = known[at[inside]] == asked[inside]
    return _Compared(truth, ranked, hits)


def _pairs(rows: LabelRows) -> NDArray[np.int64]:
    """Every label of every row as one number; ascending, as rows and their labels are."""
    at_row = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
    return at_row * rows.n_labels + rows.indices


def _mean(per_row: NDArray[Any]) -> float:
    return float(per_row.mean()) if per_row.size else 0.0


def _ratio(reached: NDArray[Any], best: NDArray[Any]) -> float:
    total = float(best.sum())
    return float(reached.sum()) / total if total else 0.0


def _discounts(k: int) -> NDArray[np.float64]:
    return 1 / np.log2(np.arange(k) + 2)


def _ideal_gain(truth: LabelRows, k: int) -> NDArray[np.float64]:
    """Gain of a ranking that starts with all true labels; that of one label where there is none."""
    gains = np.cumsum(_discounts(k))
    return gains[np.clip(np.diff(truth.indptr), 1, k) - 1]


def _gains(labels: NDArray[np.int64], gain: NDArray[np.float64]) -> NDArray[np.float64]:
    return gain[np.maximum(labels, 0)] if gain.size else np.zeros(labels.shape)


def _best_gains(truth: LabelRows, gain: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Gains of the k true labels that weigh most, per row; 0 where there are fewer."""
    at_row = np.repeat(np.arange(truth.n_rows), np.diff(truth.indptr))
    gains = gain[truth.indices]
    order = np.lexsort((-gains, at_row))
    position = np.arange(order.size) - truth.indptr[at_row]
    best = np.zeros((truth.n_rows, k))
    first = position < k
    best[at_row[first], position[first]] = gains[order][first]
    return best
