"""How small a part of a model's rows is enough, on rows that are held out."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_xp.checks import check_exponent
from swnn_xp.learn.compression import unscaled_rows
from swnn_xp.loading import AnyModel, is_ranked
from swnn_xp.model.changes import compact
from swnn_xp.rows.canonical import to_csr
from swnn_xp.rows.records import LabelRows, ValueRows

PARTS = 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7
_HELD_OUT, _MAX_HELD_OUT = 0.1, 5_000


class PartTrial(NamedTuple):
    """A part of the rows, and its P@1 on the rows held out, in points."""

    keep: float
    precision: float


def smallest_part(
    clf: AnyModel,
    max_loss: float,
    *,
    seed: int = 0,
    on_progress: Callable[[PartTrial], None] = lambda trial: None,
) -> float:
    """Find the smallest part of a model's rows that loses at most so much of its P@1.

    A tenth of the rows, 5,000 at most, is held out; the rest is fitted once as a whole, then
    compressed to growing parts until one is good enough.

    Parameters
    ----------
    clf : SWNNClassifier or SWNNRanker
        Fitted, with all its rows. It stays as it is.
    max_loss : float
        Points of P@1.
    seed : int
        Decides which rows are held out.
    on_progress : callable, optional
        Called with each trial, the whole (1.0) first.

    Returns
    -------
    float
        1.0 if no part is good enough.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from swnn_xp import SWNNClassifier
    >>> X = sp.csr_array([[1.0, 0.0], [0.0, 1.0]] * 100)
    >>> smallest_part(SWNNClassifier().fit(X, X), 0.5)
    0.02
    """
    check_exponent(max_loss, "max_loss")
    whole, X, y = _without_held_out(clf, seed)
    wanted = 100 * whole.score(X, y) - max_loss
    on_progress(PartTrial(1.0, wanted + max_loss))
    for keep in PARTS:
        precision = 100 * copy.deepcopy(whole).compress(keep).score(X, y)
        on_progress(PartTrial(keep, precision))
        if precision >= wanted:
            return keep
    return 1.0


def _without_held_out(clf: AnyModel, seed: int) -> tuple[AnyModel, Any, Any]:
    """Fit a model like this one without some rows; return it and these rows."""
    model = compact(clf.current_model())
    X, y = _matrices(unscaled_rows(model), model.checked_labels)
    train, test = _hold_out(X.shape[0], seed)
    params = clf.get_params()
    more: dict[str, Any] = {}
    if not is_ranked(clf):
        more["feature_weights"] = model.feature_weights
    elif clf.keep < 1:
        raise ValueError("already compressed (keep=…); fit again to keep another part")
    fitted = type(clf)(**params).fit(X[train], y[train], **more)
    return fitted, X[test], y[test]


def _hold_out(n_rows: int, seed: int) -> list[NDArray[np.int64]]:
    """Rows to learn from and rows to measure on, at random."""
    n_out = round(n_rows * min(_HELD_OUT, _MAX_HELD_OUT / n_rows))
    if not n_out:
        raise ValueError(f"{n_rows} rows are too few to hold some of them out")
    order = np.random.default_rng(seed).permutation(n_rows)
    return [np.sort(order[n_out:]), np.sort(order[:n_out])]


def _matrices(rows: ValueRows, labels: LabelRows) -> tuple[Any, Any]:
    n_rows, ones = labels.n_rows, np.ones(labels.indices.size, np.int8)
    return (
        to_csr(rows.indptr, rows.indices, rows.values, (n_rows, rows.n_features)),
        to_csr(labels.indptr, labels.indices, ones, (n_rows, labels.n_labels)),
    )
