"""Differences between a data set and its published figures.

The known data sets, and which of them can be loaded.

The paper's tables of its six training sets.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from swnn_xp.datasets.reading import REGISTRY, Published, data_root, find_files

# Means are published with two decimals, and the two means of a set agree to about 0.1%.
_ABSOLUTE, _RELATIVE = 0.006, 0.001


def differences(published: Published, X_train: Any, y_train: Any, y_test: Any) -> tuple[str, ...]:
    """Describe each difference in one sentence."""
    n_rows, n_labels = y_train.shape[0], y_train.shape[1]
    n_pairs = y_train.nnz
    if published.means_over == "all":
        n_rows += y_test.shape[0]
        n_pairs += y_test.nnz
    counts = [
        ("features", published.n_features, X_train.shape[1]),
        ("labels", published.n_labels, n_labels),
        ("training rows", published.n_train, X_train.shape[0]),
        ("test rows", published.n_test, y_test.shape[0]),
    ]
    means = [
        ("points per label", published.points_per_label, n_pairs / max(n_labels, 1)),
        ("labels per point", published.labels_per_point, n_pairs / max(n_rows, 1)),
    ]
    return tuple(
        f"{what}: published {stated:,}, found {round(found, 2):,}"
        for what, stated, found in [
            *((w, t, f) for w, t, f in counts if t is not None and t != f),
            *((w, t, f) for w, t, f in means if t is not None and not _close(t, f)),
        ]
    )


def _close(stated: float, found: float) -> bool:
    return abs(stated - found) <= _ABSOLUTE + _RELATIVE * stated


class Description(NamedTuple):
    """A known data set and where it is."""

    published: Published
    path: Path | None
    """The training file, or the file of all rows; None if not found or shipped."""
    at_hand: bool


def describe(root: str | os.PathLike[str] | None = None) -> list[Description]:
    """List every known data set with its published figures.

    Parameters
    ----------
    root : path, optional
        Folder to look for their files in; ``$SWNN_DATA`` if not given.

    Returns
    -------
    list of Description
        One per set, in the order of the registry.

    Examples
    --------
    >>> from swnn_xp import datasets
    >>> [row.published.n_labels for row in datasets.describe() if row.published.in_paper]
    [13330, 30938, 205443, 325056, 670091, 2812281]
    """
    folder = data_root(root)
    rows = []
    for published in REGISTRY.values():
        files = find_files(published.name, folder) if folder else None
        at_hand = files is not None or published.name == "debtags"
        rows.append(Description(published, files.data[0] if files else None, at_hand))
    return rows


def available(root: str | os.PathLike[str] | None = None) -> list[str]:
    """Names of the known data sets that can be loaded here.

    Parameters
    ----------
    root : path, optional
        Folder to look for their files in; ``$SWNN_DATA`` if not given.

    Returns
    -------
    list of str
        "debtags", and what was found.

    Examples
    --------
    >>> from swnn_xp import datasets
    >>> "debtags" in datasets.available()
    True
    """
    return [row.published.name for row in describe(root) if row.at_hand]


class Summary(NamedTuple):
    """Five numbers and the mean of a distribution, as the paper prints them (rounded)."""

    minimum: int
    first_quartile: int
    median: int
    third_quartile: int
    maximum: int
    mean: float


class PaperSummaries(NamedTuple):
    """The four tables' rows for one training set."""

    label_occurrences: Summary
    labels_per_row: Summary
    features_per_row: Summary
    feature_occurrences: Summary


PAPER_SUMMARIES = {
    "AmazonCat-13K": PaperSummaries(
        Summary(1, 7, 28, 111, 335_211, 449),
        Summary(1, 3, 4, 6, 57, 5),
        Summary(1, 22, 45, 91, 2_113, 71),
        Summary(1, 6, 13, 53, 499_293, 414),
    ),
    "Wiki10-31K": PaperSummaries(
        Summary(1, 2, 2, 4, 11_411, 9),
        Summary(1, 13, 19, 25, 30, 19),
        Summary(8, 282, 520, 925, 3_288, 673),
        Summary(1, 5, 11, 36, 7_103, 94),
    ),
    "Delicious-200K": PaperSummaries(
        Summary(1, 3, 6, 17, 64_548, 74),
        Summary(1, 9, 27, 77, 13_203, 76),
        Summary(1, 35, 115, 340, 82_820, 301),
        Summary(1, 4, 6, 14, 82_028, 76),
    ),
    "WikiLSHTC-325K": PaperSummaries(
        Summary(1, 2, 5, 13, 293_936, 18),
        Summary(1, 1, 2, 4, 198, 3),
        Summary(1, 16, 30, 54, 5_053, 42),
        Summary(1, 1, 1, 3, 274_175, 54),
    ),
    "Amazon-670K": PaperSummaries(
        Summary(1, 2, 3, 4, 1_826, 4),
        Summary(1, 5, 6, 7, 7, 5),
        Summary(1, 23, 48, 96, 2_025, 76),
        Summary(1, 6, 13, 54, 209_059, 273),
    ),
    "Amazon-3M": PaperSummaries(
        Summary(1, 3, 7, 19, 12_014, 22),
        Summary(1, 7, 20, 65, 100, 36),
        Summary(0, 20, 37, 65, 2_443, 49),
        Summary(1, 5, 8, 21, 330_125, 251),
    ),
}
