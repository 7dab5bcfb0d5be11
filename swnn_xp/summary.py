"""Statistics of a data set: occurrences of labels and features, in the paper's tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_xp.rows.canonical import canonical_rows, label_rows


class FiveNumbers(NamedTuple):
    """Minimum, quartiles, maximum and mean of some counts."""

    min: int
    first_quartile: int
    median: int
    third_quartile: int
    max: int
    mean: float


class Summary(NamedTuple):
    """The result of `summarize`. Occurrences are of labels and features that occur at all."""

    n_rows: int
    n_features: int
    n_labels: int
    features_used: int
    labels_used: int
    label_occurrences: FiveNumbers
    labels_per_row: FiveNumbers
    features_per_row: FiveNumbers
    feature_occurrences: FiveNumbers

    def tables(self) -> dict[str, FiveNumbers]:
        """The four tables by their titles."""
        return {
            "label occurrences": self.label_occurrences,
            "labels per row": self.labels_per_row,
            "features per row": self.features_per_row,
            "feature occurrences": self.feature_occurrences,
        }


class Counts(NamedTuple):
    """The four distributions of a data set: a number per label, row or feature."""

    label_occurrences: NDArray[np.int64]
    labels_per_row: NDArray[np.int64]
    features_per_row: NDArray[np.int64]
    feature_occurrences: NDArray[np.int64]

    def summary(self) -> Summary:
        """Summarise each of them."""
        labels, features = self.label_occurrences, self.feature_occurrences
        return Summary(
            n_rows=self.labels_per_row.size,
            n_features=features.size,
            n_labels=labels.size,
            features_used=int((features > 0).sum()),
            labels_used=int((labels > 0).sum()),
            label_occurrences=five_numbers(labels[labels > 0]),
            labels_per_row=five_numbers(self.labels_per_row),
            features_per_row=five_numbers(self.features_per_row),
            feature_occurrences=five_numbers(features[features > 0]),
        )


def five_numbers(counts: NDArray[Any]) -> FiveNumbers:
    """Summarise counts; every number but the mean is one of them (0 if there are none).

    Examples
    --------
    >>> five_numbers(np.asarray([1, 2, 3, 4, 10]))
    FiveNumbers(min=1, first_quartile=2, median=3, third_quartile=4, max=10, mean=4.0)
    """
    if counts.size == 0:
        return FiveNumbers(0, 0, 0, 0, 0, 0.0)
    low, first, median, third, high = np.quantile(
        counts, [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf"
    ).tolist()
    return FiveNumbers(low, first, median, third, high, float(counts.mean()))


def count(X: Any, y: Any) -> Counts:
    """Count labels and features of a data set.

    Examples
    --------
    >>> count([[1, 2], [0, 3]], [[1, 0], [1, 0]]).feature_occurrences.tolist()
    [1, 2]
    """
    rows, labels = canonical_rows(X, "X"), label_rows(y, "y")
    if rows.indptr.size != labels.indptr.size:
        raise ValueError(f"X has {rows.indptr.size - 1} rows but y has {labels.n_rows}")
    return Counts(
        label_occurrences=np.bincount(labels.indices, minlength=labels.n_labels),
        labels_per_row=np.diff(labels.indptr),
        features_per_row=np.diff(rows.indptr),
        feature_occurrences=np.bincount(rows.indices, minlength=rows.n_features),
    )


def summarize(X: Any, y: Any) -> Summary:
    """Describe a data set as the paper does.

    Examples
    --------
    >>> summarize([[1, 2], [0, 3]], [[1, 0], [1, 0]]).label_occurrences.max
    2
    """
    return count(X, y).summary()
