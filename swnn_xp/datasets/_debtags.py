"""Unpack the shipped data set "debtags" (written by scripts/make_debtags.py).

One xz-compressed .npz: column ids are stored as differences within a row, which compress
better. As repository text it is no smaller and takes seven times as long to read
(scripts/check_debtags.py).
"""

from __future__ import annotations

import io
import lzma
from importlib import resources
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from ._dataset import Dataset
from ._weighting import idf_weights, tfidf


def load_debtags(weighting: Literal["tfidf", "counts"]) -> Dataset:
    """Read debtags from the package and weight its term counts."""
    packed = resources.files(__package__).joinpath("debtags", "debtags.npz.xz").read_bytes()
    with np.load(io.BytesIO(lzma.decompress(packed)), allow_pickle=False) as arrays:
        n_train = int(arrays["n_train"])
        features, labels, rows = (
            arrays[key].tobytes().decode().split("\n") for key in ("features", "labels", "rows")
        )
        counts = arrays["x_counts"].astype(np.float32)
        X = _unpack(arrays["x_lengths"], arrays["x_steps"], counts, len(features))
        ones = np.ones(len(arrays["y_steps"]), dtype=np.int8)
        y = _unpack(arrays["y_lengths"], arrays["y_steps"], ones, len(labels))
    X_train, X_test = X[:n_train], X[n_train:]
    if weighting == "tfidf":
        idf = idf_weights(X_train)
        X_train, X_test = tfidf(X_train, idf), tfidf(X_test, idf)
    return Dataset(
        name="debtags",
        X_train=X_train,
        y_train=y[:n_train],
        X_test=X_test,
        y_test=y[n_train:],
        feature_names=features,
        label_names=labels,
        row_names_train=rows[:n_train],
        row_names_test=rows[n_train:],
    )


def _unpack(lengths: Any, steps: Any, data: Any, n_columns: int) -> Any:
    """Turn differences back into column ids, starting from 0 in each row."""
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    total = np.concatenate([[0], np.cumsum(steps, dtype=np.int64)])
    indices = total[1:] - np.repeat(total[indptr[:-1]], lengths)
    matrix = csr_array(
        (data, indices.astype(np.int32), indptr.astype(np.int32)), (len(lengths), n_columns)
    )
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix
