"""Synthetic twins of the paper's data sets: the same sizes and distributions, made-up content."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._dataset import Dataset
from ._degrees import column_tail, degree_sequence, row_tail, sample, thin, with_total
from ._matching import match
from ._paper import PAPER_SUMMARIES, PaperSummaries
from ._registry import Published, find_published
from ._shapes import SHAPES
from ._topics import column_topics, lay_out, row_topics
from ._twin_rows import TestRows, binary_rows, draw_test_rows, resample, weigh


def make_twin(name: str, scale: float = 1.0, seed: int = 0) -> Dataset:
    """Make a synthetic data set like one of the paper's six, or of another shape.

    At scale 1 the training rows have the paper's five-number summaries and means: occurrences of
    labels and features, labels and features per row. Rows have topics: rows of like topics share
    features and labels, some more so (families of two to six rows), and common words occur
    everywhere. A quarter of the test rows are near-duplicates of a training row. Values are like
    tf-idf. Labels can be learnt from neighbours, but how well says nothing of the real data.

    Parameters
    ----------
    name : str
        One of the paper's six sets, see `describe`; or "short-rows" (47,000 rows of 8 features, a
        few of which occur in a quarter of the rows) or "medium-rows" (57,717 rows of 63 features).
    scale : float, default 1
        Number of rows relative to the original. Below 1 the twin is like a random sample of the
        rows: features and labels per row stay as they are, occurrences are thinned binomially, and
        columns that no longer occur are dropped. Above 1, occurrences grow with the rows and the
        columns stay.
    seed : int, default 0
        The same seed gives the same data.

    Returns
    -------
    Dataset
        Without names of rows, features and labels.

    Examples
    --------
    >>> from swnn_xp import datasets
    >>> twin = datasets.make_twin("Wiki10-31K", scale=0.01)
    >>> twin.X_train.shape[0], twin.X_test.shape[0]
    (141, 66)
    """
    published, summaries = _described(name)
    if not 0 < scale < float("inf"):
        raise ValueError(f"scale must be a positive number, not {scale}")
    rng = np.random.default_rng(seed)
    full = _full_size(published, summaries)
    n_train, n_test = (max(1, round(n * scale)) for n in (published.n_train, published.n_test))
    words, tags = (thin(counts, n_train / published.n_train, rng) for counts in full[2:])
    layout = lay_out(
        sample(np.minimum(full[0], max(1, len(words) // 2)), n_train),
        sample(np.minimum(full[1], max(1, len(tags) // 2)), n_train),
        rng.random(),
    )
    test = draw_test_rows(n_train, n_test, rng)
    ids = rng.permutation(n_train), rng.permutation(n_test)
    width = 0 if scale < 1 else published.n_features or 0
    family = layout.family
    X = _split(layout.n_features, family, words, width, 8, test, ids, rng)
    width = 0 if scale < 1 else published.n_labels
    y = _split(layout.n_labels, family, tags, width, 20, test, ids, rng)
    families = np.empty_like(family), np.empty(n_test, dtype=family.dtype)
    families[0][ids[0]] = family
    families[1][ids[1]] = family[test.model]
    idf = np.log((1 + n_train) / (1 + np.bincount(X[0].indices, minlength=X[0].shape[1]))) + 1
    return Dataset(
        name=f"twin of {published.name}",
        X_train=weigh(X[0], families[0], idf),
        y_train=y[0],
        X_test=weigh(X[1], families[1], idf),
        y_test=y[1],
        feature_names=[],
        label_names=[],
        row_names_train=[],
        row_names_test=[],
    )


def _described(name: str) -> tuple[Published, PaperSummaries]:
    """Sizes and distributions that go by a name."""
    if name in SHAPES:
        return SHAPES[name]
    published = find_published(name)
    if published is None or published.name not in PAPER_SUMMARIES:
        raise ValueError(f"no twin of {name!r}: there are {', '.join([*PAPER_SUMMARIES, *SHAPES])}")
    return published, PAPER_SUMMARIES[published.name]


def _full_size(published: Published, paper: PaperSummaries) -> tuple[Any, Any, Any, Any]:
    """Features and labels per row, and their occurrences, each ascending, at scale 1."""
    n = published.n_train
    n_features = degree_sequence(
        paper.features_per_row, n, n * paper.features_per_row.mean, row_tail
    )
    n_labels = degree_sequence(paper.labels_per_row, n, n * published.labels_per_point, row_tail)
    entries, pairs = int(n_features.sum()), int(n_labels.sum())
    # Some features occur in test rows only: the paper's mean is over those of the training rows.
    occurring = round(entries / paper.feature_occurrences.mean)
    d = min(published.n_features or occurring, occurring)
    return (
        n_features,
        n_labels,
        degree_sequence(paper.feature_occurrences, d, entries, column_tail),
        degree_sequence(paper.label_occurrences, published.n_labels, pairs, column_tail),
    )


def _split(
    lengths: Any,
    family: Any,
    counts: Any,
    n_columns: int,
    stray: int,
    test: TestRows,
    row_ids: tuple[Any, Any],
    rng: np.random.Generator,
) -> tuple[Any, Any]:
    """Train and test rows of 0/1, for features or for labels.

    Each `stray`-th column belongs to no topic.
    """
    n_rows = len(lengths)
    counts = with_total(counts, int(lengths.sum()), n_rows)
    columns = column_topics(counts, n_rows, stray, rng.random())
    train = match(lengths, row_topics(family, lengths), counts, columns, rng)
    drawn = resample(train, n_rows, test, rng)
    column_ids = rng.permutation(max(n_columns, len(counts)))
    return binary_rows(train, row_ids[0], column_ids), binary_rows(drawn, row_ids[1], column_ids)
