"""From matched pairs to rows: test rows modelled on training rows, renaming, values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_CHUNK = 1 << 22


class TestRows(NamedTuple):
    """Which training row each test row is modelled on, and how closely (0 to 1)."""

    model: Any
    closeness: Any


def draw_test_rows(n_train: int, n_test: int, rng: np.random.Generator) -> TestRows:
    """Choose models for test rows; a quarter of the test rows are near-duplicates of them."""
    model = rng.integers(0, n_train, n_test)
    return TestRows(model, rng.choice([0.4, 0.4, 0.4, 0.9], n_test))


def resample(pairs: Any, n_train: int, test: TestRows, rng: np.random.Generator) -> Any:
    """Draw test rows: each entry is its model's, or else any entry of a training row nearby.

    Parameters
    ----------
    pairs : ndarray
        Sorted training pairs, row and column in one word, rows in their order on the circle.
    n_train : int
        Number of training rows.
    test : TestRows
        Models of the test rows.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    ndarray
        Sorted pairs of test row and column, each once.
    """
    bounds = np.searchsorted(pairs, np.arange(n_train + 1, dtype=np.uint64) << _HALF)
    starts, lengths = bounds[:-1], np.diff(bounds)
    drawn = []
    step = max(1, int(_CHUNK * n_train / max(len(pairs), 1)))
    for begin in range(0, len(test.model), step):
        model = test.model[begin : begin + step]
        own = lengths[model]
        row = np.repeat(np.arange(begin, begin + len(model)), own)
        within = np.arange(own.sum()) - np.repeat(np.cumsum(own) - own, own)
        exact = rng.random(len(row)) < test.closeness[row]
        away = np.rint(rng.normal(0, 3, len(row))).astype(np.int64)
        source = (test.model[row] + np.where(exact, 0, away)) % n_train
        chance = (rng.random(len(row)) * lengths[source]).astype(np.int64)
        entry = starts[source] + np.where(exact, within, chance)
        has = lengths[source] > 0
        found = (row[has].astype(np.uint64) << _HALF) | (pairs[entry[has]] & _LOW)
        found.sort()
        drawn.append(found[np.diff(found, prepend=_LOW << _HALF) != 0])
    return np.concatenate(drawn)


def binary_rows(pairs: Any, row_ids: Any, column_ids: Any) -> Any:
    """Make a 0/1 matrix of pairs, with rows and columns renamed; changes `pairs`."""
    for start in range(0, len(pairs), _CHUNK):
        part = pairs[start : start + _CHUNK]
        row, column = row_ids[part >> _HALF], column_ids[part & _LOW]
        pairs[start : start + _CHUNK] = (row.astype(np.uint64) << _HALF) | column.astype(np.uint64)
    pairs.sort()
    shape = (len(row_ids), len(column_ids))
    indptr = np.searchsorted(pairs, np.arange(shape[0] + 1, dtype=np.uint64) << _HALF)
    indices = np.empty(len(pairs), dtype=np.int32)
    np.bitwise_and(pairs, _LOW, out=indices, casting="unsafe")
    return csr_array((np.ones(len(pairs), dtype=np.int8), indices, indptr.astype(np.int32)), shape)


def weigh(rows: Any, family: Any, idf: Any) -> Any:
    """Give a 0/1 matrix tf-idf values; near-duplicates have the same made-up counts."""
    data = np.empty(rows.nnz, dtype=np.float32)
    lengths = np.diff(rows.indptr)
    step = max(1, int(_CHUNK * rows.shape[0] / max(rows.nnz, 1)))
    for begin in range(0, rows.shape[0], step):
        part = slice(rows.indptr[begin], rows.indptr[min(begin + step, rows.shape[0])])
        of_row = np.repeat(family[begin : begin + step], lengths[begin : begin + step])
        column = rows.indices[part]
        data[part] = (1 + np.log(_made_up_count(of_row, column))) * idf[column]
    return csr_array((data, rows.indices, rows.indptr), rows.shape)


def _made_up_count(family: Any, column: Any) -> Any:
    """How often a word is in a text: 1 in two cases of three, seldom more than 5."""
    mixed = family.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= column.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    uniform = ((mixed >> np.uint64(40)).astype(np.float64) + 0.5) / 2.0**24
    return 1 + np.floor(-np.log(uniform))
