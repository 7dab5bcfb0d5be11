"""The benchmarks' data: synthetic, from a fixed seed, kept as .npy files and one text file.

It uses nothing of the library, so that every revision of the history gets the same rows.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

N_TRAIN, N_TEST, N_FEATURES, N_LABELS = 30_000, 512, 20_000, 2_000
_WORDS, _TOPICS = 60, 400  # mean features of a row; topics that rows are about
_SEED = 20180211


def make(n_train=N_TRAIN, n_test=N_TEST, n_features=N_FEATURES, n_labels=N_LABELS):
    """Rows about one topic each: half of their words are the topic's, the others are common ones.

    Returns
    -------
    X, Y : csr arrays
        Training rows first, then the test rows.
    """
    rng = np.random.default_rng(_SEED)
    n_rows = n_train + n_test
    topic = _zipf(rng, _TOPICS, n_rows, 0.7)
    X = _rows(rng, topic, n_rows, n_features, _WORDS, 150)
    X.data = rng.gamma(2.0, 1.0, X.nnz) * np.log(n_rows / np.bincount(X.indices)[X.indices])
    X.data += 0.01  # no explicit zeros
    Y = _rows(rng, topic, n_rows, n_labels, 5, 8)
    return X, Y


def _rows(rng, topic, n_rows, width, mean, own):
    """0/1 rows: each place holds a column of the row's topic or, as often, any column by Zipf."""
    sizes = rng.poisson(mean, n_rows) + 1
    at = np.repeat(np.arange(n_rows), sizes)
    columns = _zipf(rng, width, at.size, 1.0)
    of_topic = rng.integers(0, width, (_TOPICS, own))
    chosen = of_topic[topic[at], rng.integers(0, own, at.size)]
    columns = np.where(rng.random(at.size) < 0.5, chosen, columns)
    rows = sp.csr_array((np.ones(at.size), (at, columns)), shape=(n_rows, width))
    rows.sum_duplicates()
    rows.data[:] = 1.0
    return rows


def _zipf(rng, n, size, exponent):
    weights = np.arange(1, n + 1) ** -exponent
    return np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(size)).clip(0, n - 1)


def save(name, matrix):
    """Write a matrix as .npy files into the working directory."""
    for part in ("indptr", "indices", "data"):
        np.save(f"{name}_{part}.npy", getattr(matrix, part))
    np.save(f"{name}_shape.npy", matrix.shape)


def load(name):
    """Read what `save` wrote."""
    parts = [np.load(f"{name}_{part}.npy") for part in ("data", "indices", "indptr")]
    return sp.csr_array(tuple(parts), shape=tuple(np.load(f"{name}_shape.npy")))


def write_text(path, X, Y):
    """Write rows in the repository's text format, by plain Python."""
    with open(path, "w") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for i in range(X.shape[0]):
            here = slice(X.indptr[i], X.indptr[i + 1])
            labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]]))
            pairs = zip(X.indices[here], X.data[here], strict=True)
            file.write(labels + " " + " ".join(f"{j}:{v:.6g}" for j, v in pairs) + "\n")
