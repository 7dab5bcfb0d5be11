"""What users pass as X: which library it belongs to, found without importing any; or texts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_array_api_obj

from swnn_xp.rows.records import Array, QuantisedRows


def input_kind(X: Any) -> str:
    """Name the library: numpy (also lists and tables), scipy, cupy, torch; array-api for others.

    Examples
    --------
    >>> input_kind([[1, 2]])
    'numpy'
    """
    if sp.issparse(X):
        return "scipy"
    root = type(X).__module__.partition(".")[0]
    if root in ("cupy", "cupyx"):
        return "cupy"
    if "torch" in sys.modules and isinstance(X, sys.modules["torch"].Tensor):
        return "torch"
    if isinstance(X, np.ndarray) or not is_array_api_obj(X):
        return "numpy"
    return "array-api"


def is_host(X: Any) -> bool:
    """True if NumPy and SciPy take it as it is."""
    return input_kind(X) in ("numpy", "scipy")


def host_matrix(X: Any) -> Any:
    """Copy a matrix of any kind to the host: NumPy if it is dense, SciPy if it is sparse.

    Examples
    --------
    >>> host_matrix([[1, 2]])
    [[1, 2]]
    """
    kind = input_kind(X)
    if kind == "cupy":
        return X.get()
    if kind == "torch":
        return _host_tensor(X)
    if kind == "array-api":
        return host_array(X)
    return X


def host_array(array: Any) -> Any:
    """Copy an array of any array-API namespace to NumPy, from whatever device it is on."""
    if isinstance(array, np.ndarray):
        return array
    if input_kind(array) == "cupy":
        return array.get()  # CuPy exports to the host only on request, and this is one
    if input_kind(array) == "torch":
        return array.detach().cpu().numpy()
    return np.array(np.from_dlpack(array))


def host_rows(rows: QuantisedRows) -> QuantisedRows:
    """Copy rows to the host."""
    return map_rows(host_array, rows)


def map_rows(move: Callable[[Array], Array], rows: QuantisedRows) -> QuantisedRows:
    """Rows with each array replaced by what `move` makes of it."""
    return QuantisedRows(
        move(rows.indptr), move(rows.indices), move(rows.quantised), rows.n_features
    )


def _host_tensor(X: Any) -> Any:
    import torch

    if X.layout == torch.strided:
        return X.detach().cpu().numpy()
    coo = X.detach().cpu().to_sparse_coo()
    # Not coalesced on purpose: repeats are summed later, in the order they are stored.
    at_row, column = coo._indices().numpy()
    return sp.coo_array((coo._values().numpy(), (at_row, column)), shape=tuple(X.shape))


def as_texts(X: Any) -> Sequence[str] | None:
    """Return X if it is a sequence of texts (list, array, column of a table), else None.

    Examples
    --------
    >>> as_texts(["a text"]), as_texts([[1, 0]])
    (['a text'], None)
    """
    if isinstance(X, str):
        raise ValueError("X is one text: put it into a list")
    if isinstance(X, list | tuple):
        return X if X and isinstance(X[0], str) else None
    if getattr(X, "ndim", None) == 1 and getattr(X.dtype, "kind", "") in "OUT":
        texts = list(X)
        return texts if texts and isinstance(texts[0], str) else None
    return None
