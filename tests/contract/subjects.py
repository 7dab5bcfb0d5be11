"""What the contract suite runs on: every usable backend with every kind of input it takes.

Derived from the capability table. A backend that takes arrays of its own is given those, and must
give such arrays back, on the device they came from; only then are they copied to NumPy to be
compared. array-api-strict stands for "any namespace", on its second device: an array that is made
without ``device=``, or read through NumPy in secret, raises there.
"""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, SWNNRanker
from swnn_xp.backends import BACKENDS
from swnn_xp.rows.input_kind import host_matrix, input_kind


class Subject(NamedTuple):
    backend: str
    kind: str
    products: bool = False
    """The CuPy backend without its kernels."""

    def __str__(self) -> str:
        return f"{self.backend}-{self.kind}" + ("-products" if self.products else "")


def subjects() -> list[Subject]:
    usable = [backend for backend in BACKENDS.values() if backend.unusable() is None]
    found = [
        Subject(backend.name, kind)
        for backend in usable
        for kind in backend.accepts
        if kind in BRING and importlib.util.find_spec(NEEDS[kind])
    ]
    # What the portable backend does with CuPy arrays, the CuPy backend's product path does too.
    found = [s for s in found if s != ("array-api", "cupy", False)]
    return found + [s._replace(products=True) for s in found if s[:2] == ("cupy", "cupy")]


def to_cupy(X: Any) -> Any:
    import cupy
    import cupyx.scipy.sparse

    return cupyx.scipy.sparse.csr_matrix(X.astype(float)) if sp.issparse(X) else cupy.asarray(X)


def to_torch(X: Any) -> Any:
    import torch

    if not sp.issparse(X):
        return torch.asarray(X)
    parts = X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse ")
        return torch.sparse_csr_tensor(*map(torch.tensor, parts), size=X.shape)


def to_strict(X: Any) -> Any:
    import array_api_strict

    dense = X.toarray() if sp.issparse(X) else X
    return array_api_strict.asarray(dense, device=array_api_strict.Device("device1"))


BRING = {"numpy": lambda X: X, "cupy": to_cupy, "torch": to_torch, "array-api": to_strict}
NEEDS = {"numpy": "numpy", "cupy": "cupy", "torch": "torch", "array-api": "array_api_strict"}


class Native:
    """Takes what tests have, hands the backend arrays of the subject's kind, checks what it gives.

    Results are copied to the host, so that tests see NumPy and SciPy whatever the subject.
    """

    subject: Subject

    def bring(self, X: Any) -> Any:
        kind = self.subject.kind
        if kind == "numpy" or input_kind(X) == kind:
            return X
        X = X if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        if sp.issparse(X) and self.subject.backend == "array-api":
            X = X.toarray()
        return BRING[kind](X)

    def fit(self, X: Any, Y: Any, **names: Any) -> Any:
        return super().fit(self.bring(X), Y, **names)

    def partial_fit(self, X: Any, Y: Any, **names: Any) -> Any:
        return super().partial_fit(self.bring(X), Y, **names)

    def kneighbors(self, X: Any, n_neighbors: int | None = None) -> Any:
        X = self.bring(X)
        return self.checked(X, super().kneighbors(X, n_neighbors))

    def predict_topk(self, X: Any, k: int = 5, **options: Any) -> Any:
        X = self.bring(X)
        return self.checked(X, super().predict_topk(X, k, **options))

    def topk_probabilities(self, X: Any, k: int = 5, **options: Any) -> Any:
        X = self.bring(X)
        return self.checked(X, super().topk_probabilities(X, k, **options))

    def decision_function(self, X: Any) -> Any:
        X = self.bring(X)
        return self.checked_matrix(X, super().decision_function(X))

    def predict_proba(self, X: Any) -> Any:
        X = self.bring(X)
        return self.checked_matrix(X, super().predict_proba(X))

    def predict(self, X: Any) -> Any:
        X = self.bring(X)
        return self.checked_matrix(X, super().predict(X))

    def checked(self, X: Any, result: Any) -> Any:
        for array in result:
            assert input_kind(array) == self.subject.kind
            assert device_of(array) == device_of(X)
        return type(result)(*map(host_matrix, result))

    def checked_matrix(self, X: Any, matrix: Any) -> sp.csr_array:
        kinds = ("numpy", "scipy") if self.subject.kind == "numpy" else (self.subject.kind,)
        assert input_kind(matrix) in kinds
        assert device_of(matrix) == device_of(X)
        return sp.csr_array(host_matrix(matrix))


class NativeClassifier(Native, SWNNClassifier):
    pass


class NativeRanker(Native, SWNNRanker):
    pass


def device_of(X: Any) -> Any:
    if input_kind(X) in ("numpy", "scipy"):
        return "host"
    return X.data.device if hasattr(X, "indptr") else X.device
