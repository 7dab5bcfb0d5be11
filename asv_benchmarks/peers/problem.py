"""A data set as the peers get it: unit rows in float32, and what is right."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy.sparse as sp

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


MATRICES = ("X_train", "y_train", "X_test", "y_test")
NAMES = "names.json"


class Problem:
    """A data set, the first rows of its test set, and the names of features and labels, if any."""

    def __init__(self, X_train, y_train, X_test, y_test, n_queries=None, names=None):
        self.names = names
        self.X_train, self.y_train = X_train, y_train
        self.X_test, self.y_test = X_test, y_test
        self.queries = self.X_test[:n_queries]

    @classmethod
    def load(cls, name, n_queries=None, root=DATA):
        """Load a data set by name; needs this library."""
        from swnn_xp import datasets

        data = datasets.load(name, root=None if name == "debtags" else root)
        X = unit(data.X_train), unit(data.X_test)
        Y = sp.csr_array(data.y_train), sp.csr_array(data.y_test)
        return cls(X[0], Y[0], X[1], Y[1], n_queries, names_of(data))

    @classmethod
    def open(cls, folder, n_queries):
        """Open what `save` wrote; needs SciPy only."""
        matrices = [sp.load_npz(Path(folder) / f"{name}.npz") for name in MATRICES]
        names = json.loads((Path(folder) / NAMES).read_text())
        return cls(*(sp.csr_array(matrix) for matrix in matrices), n_queries, names)

    def save(self, folder):
        Path(folder).mkdir(parents=True)
        for name in MATRICES:
            sp.save_npz(Path(folder) / f"{name}.npz", getattr(self, name), compressed=False)
        (Path(folder) / NAMES).write_text(json.dumps(self.names))

    @cached_property
    def cosines(self):
        """Cosines of all queries and training rows, in float64."""
        exact = self.queries.astype(np.float64) @ self.X_train.astype(np.float64).T
        return exact.toarray()

    def recall(self, ids):
        """Share of the places with a row that is as similar as one of the exact best.

        Rows that tie with the last place are as good as each other.
        """
        n_answers = ids.shape[1]
        last = np.sort(self.cosines, axis=1)[:, -n_answers]
        got = np.take_along_axis(self.cosines, np.maximum(ids, 0), axis=1)
        good = (got >= last[:, None] - 1e-6) & (ids >= 0)
        return float(good.mean())

    def vote(self, ids, sims, k=5):
        """Labels by the votes of neighbours, weighted by similarity."""
        weights = np.where(ids >= 0, np.maximum(sims, 0), 0)
        at = np.repeat(np.arange(ids.shape[0]), ids.shape[1])
        shape = ids.shape[0], self.X_train.shape[0]
        voters = sp.csr_array((weights.ravel(), (at, np.maximum(ids, 0).ravel())), shape=shape)
        scores = (voters @ self.y_train).toarray()
        return np.argsort(-scores, axis=1, kind="stable")[:, :k]

    def precision(self, labels):
        """P@1, P@3 and P@5 in percent over the rows that labels were ranked for."""
        truth = self.y_test[: labels.shape[0]]
        hits = np.zeros(labels.shape, dtype=bool)
        for i, row in enumerate(labels):
            hits[i] = np.isin(row, truth.indices[truth.indptr[i] : truth.indptr[i + 1]])
        return [100 * float(hits[:, :k].mean()) for k in (1, 3, 5)]


def names_of(data):
    """Names of features and labels; None where labels only have numbers."""
    if not (data.feature_names and data.label_names) or all(map(str.isdecimal, data.label_names)):
        return None
    return {"feature_names": data.feature_names, "label_names": data.label_names}


def unit(X):
    """Rows of unit length in float32."""
    X = sp.csr_array(X, dtype=np.float64)
    X.sum_duplicates()
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    X.data /= np.repeat(np.where(norms > 0, norms, 1), np.diff(X.indptr))
    return sp.csr_array(
        (X.data.astype(np.float32), X.indices.astype(np.int32), X.indptr.astype(np.int32)),
        shape=X.shape,
    )
