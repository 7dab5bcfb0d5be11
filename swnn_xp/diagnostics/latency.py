"""Latency of single rows, on one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from swnn_xp.loading import AnyModel

_ROWS = 1000
_SECONDS = 5.0


def latencies(
    clf: AnyModel, X: Any, k: int = 5, postings: int | None = None
) -> NDArray[np.float64]:
    """Seconds of single-row predictions: of at most 1,000 rows, within about five seconds.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from swnn_xp import SWNNClassifier
    >>> X = sp.eye_array(3, format="csr")
    >>> latencies(SWNNClassifier().fit(X, X), X).shape
    (3,)
    """
    answer = _one_row(clf, k, postings)
    rows = [X[[i]] for i in range(min(X.shape[0], _ROWS))]
    for row in rows[:3]:
        answer(row)  # the first calls may have to load compiled code
    times: list[float] = []
    began = time.perf_counter()
    for row in rows:
        started = time.perf_counter()
        answer(row)
        times.append(time.perf_counter() - started)
        if time.perf_counter() - began > _SECONDS:
            break
    return np.asarray(times)


def _one_row(clf: AnyModel, k: int, postings: int | None) -> Callable[[Any], Any]:
    """The quickest way to answer one row: a session where the backend has them."""
    if clf.backend_ != "numba":
        return lambda row: clf.predict_topk(row, k=k)
    session = clf.session(postings=postings)
    return lambda row: session.predict_one(row.indices, row.data, k)
