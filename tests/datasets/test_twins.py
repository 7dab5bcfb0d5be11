"""Synthetic twins: summaries at scale 1 (cheaply), data at small scale, learnability."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, diags_array

from swnn_xp import datasets
from swnn_xp.datasets import PAPER_SUMMARIES, SHAPES
from swnn_xp.datasets.reading import REGISTRY
from swnn_xp.datasets.twins import (
    ColumnTopics,
    RowTopics,
    _described,
    _full_size,
    degree_sequence,
    match,
    row_tail,
    thin,
    with_total,
)
from swnn_xp.summary import FiveNumbers

NAMES = sorted(PAPER_SUMMARIES)
SCALES = {
    "AmazonCat-13K": 2e-3,
    "Wiki10-31K": 0.1,
    "Delicious-200K": 6e-3,
    "WikiLSHTC-325K": 1e-3,
    "Amazon-670K": 6e-3,
    "Amazon-3M": 1.5e-3,
}
twin = cache(datasets.make_twin)


def five_numbers(values: Any) -> list[float]:
    return [*np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist(), values.mean()]


@pytest.mark.parametrize("name", [*NAMES, *SHAPES])
def test_full_size_sequences_have_the_stated_summaries(name: str) -> None:
    published, paper = _described(name)
    n_features, n_labels, words, tags = _full_size(published, paper)
    words = with_total(words, int(n_features.sum()), len(n_features))
    tags = with_total(tags, int(n_labels.sum()), len(n_labels))
    assert words.sum() == n_features.sum()
    assert tags.sum() == n_labels.sum()
    for stated, made in zip(paper, (tags, n_labels, n_features, words), strict=True):
        low, *quartiles, high, mean = five_numbers(made)
        assert low == stated.min
        np.testing.assert_allclose(quartiles, stated[1:4], rtol=0.01)
        assert stated.max / 1.5 <= high <= stated.max * 1.5
        assert mean == pytest.approx(stated.mean, rel=0.15)


@pytest.mark.parametrize("name", NAMES)
def test_small_twins_are_sound(name: str) -> None:
    data = twin(name, SCALES[name])
    paper, full = PAPER_SUMMARIES[name], REGISTRY[name]
    assert data.X_train.shape[0] == round(full.n_train * SCALES[name])
    assert data.X_test.shape[0] == round(full.n_test * SCALES[name])
    for X, Y in ((data.X_train, data.y_train), (data.X_test, data.y_test)):
        assert isinstance(X, csr_array)
        assert X.dtype == np.float32
        assert X.data.min() > 0
        assert (Y.data == 1).all()
        for matrix in (X, Y):
            assert csr_array((matrix.data, matrix.indices, matrix.indptr)).has_canonical_format
    assert data.X_train.shape[1] == data.X_test.shape[1]
    assert np.bincount(data.X_train.indices, minlength=data.X_train.shape[1]).min() >= 1
    # what is counted a row does not depend on the scale, except for the longest rows
    for stated, matrix in (
        (paper.features_per_row, data.X_train),
        (paper.labels_per_row, data.y_train),
    ):
        quartiles = five_numbers(np.diff(matrix.indptr))[1:4]
        np.testing.assert_allclose(quartiles, stated[1:4], rtol=0.15)


@pytest.mark.parametrize("name", NAMES)
def test_neighbours_predict_far_better_than_popularity(name: str) -> None:
    data = twin(name, SCALES[name])
    queries = slice(0, 200)
    sims = (_unit(data.X_test[queries]) @ _unit(data.X_train).T).toarray()
    nearest = np.argsort(-sims, axis=1, kind="stable")[:, :25]
    truth = data.y_test[queries].toarray() > 0
    occurrences = np.bincount(data.y_train.indices, minlength=data.y_train.shape[1])
    popular = np.argsort(-occurrences, kind="stable")[:5]
    hits = 0
    for i, rows in enumerate(nearest):
        votes = data.y_train[rows].T.astype(np.float64) @ sims[i, rows]
        hits += truth[i, np.argsort(-votes, kind="stable")[:5]].sum()
    assert hits > 1.4 * truth[:, popular].sum()
    assert hits > 0.4 * np.minimum(truth.sum(axis=1), 5).sum()


def _unit(X: Any) -> Any:
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    return csr_array(diags_array(1 / np.where(norms > 0, norms, 1)) @ X)


def test_a_seed_gives_the_same_data_and_another_gives_other() -> None:
    one, same, other = (datasets.make_twin("wiki10-31k", 0.01, seed=seed) for seed in (3, 3, 4))
    for field in ("X_train", "y_train", "X_test", "y_test"):
        a, b = getattr(one, field), getattr(same, field)
        assert a.shape == b.shape
        np.testing.assert_array_equal(a.indices, b.indices)
        np.testing.assert_array_equal(a.data, b.data)
    assert one.X_train.nnz == other.X_train.nnz
    assert not np.array_equal(one.X_train.indices, other.X_train.indices)


def test_test_rows_include_near_duplicates() -> None:
    data = twin("Amazon-670K", SCALES["Amazon-670K"])
    best = (_unit(data.X_test) @ _unit(data.X_train).T).toarray().max(axis=1)
    assert 0.1 < (best > 0.85).mean() < 0.4


@pytest.mark.parametrize("name", NAMES)
def test_one_row_is_a_twin_too(name: str) -> None:
    data = datasets.make_twin(name, 1e-7)
    assert data.X_train.shape[0] == data.X_test.shape[0] == 1
    assert data.X_train.nnz == data.X_train.shape[1] > 0


def test_scale_above_one_grows_occurrences_not_columns() -> None:
    counts = np.array([1, 2, 5])
    np.testing.assert_array_equal(thin(counts, 2, np.random.default_rng(0)), [2, 4, 10])


@given(
    st.lists(st.integers(0, 6), min_size=7, max_size=30),
    st.integers(6, 20),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_matching_gives_what_is_due(lengths: list[int], n_columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    asked = np.array(lengths)
    due = np.bincount(rng.integers(0, n_columns, asked.sum()), minlength=n_columns)
    n = len(asked)
    rows = RowTopics(rng.random(n), rng.random(n), np.full(n, 0.1), rng.random(n))
    columns = ColumnTopics(rng.random(n_columns), np.full(n_columns, 0.3), 2)
    pairs = match(asked, rows, due, columns, rng)
    row, column = pairs >> np.uint64(32), pairs & np.uint64(0xFFFFFFFF)
    assert (np.diff(pairs.astype(np.int64)) > 0).all()
    got_rows = np.bincount(row.astype(int), minlength=n)
    got_columns = np.bincount(column.astype(int), minlength=n_columns)
    # pairs that occur twice are dropped, none is invented
    assert (got_rows <= asked).all()
    assert (got_columns <= due).all()
    assert (asked - got_rows).sum() == (due - got_columns).sum()


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.floats(0, 1))
def test_with_total_reaches_any_possible_total(counts: list[int], where: float) -> None:
    total = round(len(counts) + where * (50 - 1) * len(counts))
    made = with_total(np.sort(counts), total, 50)
    assert len(made) == len(counts)
    assert made.sum() == total
    assert made.min() >= 1
    assert made.max() <= 50


def test_a_mean_out_of_reach_gives_the_nearest() -> None:
    made = degree_sequence(FiveNumbers(1, 5, 6, 7, 7, 9), 101, 909, row_tail)
    assert five_numbers(made)[:5] == [1, 5, 6, 7, 7]


def test_short_rows_meet_a_heavy_head() -> None:
    lengths, _, words, _ = _full_size(*_described("short-rows"))
    words = with_total(words, int(lengths.sum()), len(lengths))
    postings = (words.astype(float) ** 2).sum() / len(lengths)
    assert postings == pytest.approx(21_000, rel=0.05)
    assert words[-1] > len(lengths) / 4
    assert words[-3] > len(lengths) / 5


@pytest.mark.parametrize(("name", "mean"), [("short-rows", 8), ("medium-rows", 63)])
def test_small_twins_of_shapes_keep_their_rows(name: str, mean: float) -> None:
    data = twin(name, 0.02)
    assert data.X_train.shape[0] == round(SHAPES[name][0].n_train * 0.02)
    assert data.X_train.nnz / data.X_train.shape[0] == pytest.approx(mean, rel=0.1)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(ValueError, match="no twin of 'Bibtex': there are AmazonCat-13K"):
        datasets.make_twin("Bibtex")
    for scale in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="scale must be"):
            datasets.make_twin("Wiki10-31K", scale)
