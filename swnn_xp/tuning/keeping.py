"""How small a part of a model's rows is enough, on rows that are held out."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from swnn_xp.checks import check_exponent
from swnn_xp.learn.compression import unscaled_rows
from swnn_xp.loading import AnyModel, is_ranked
from swnn_xp.model.changes import compact
from swnn_xp.rows.canonical import to_csr
from swnn_xp.rows.records import LabelRows, ValueRows
from swnn_xp.tuning.scoring import Split

PARTS = 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7
_HELD_OUT, _MOST_HELD_OUT = 0.1, 5_000


class PartTrial(NamedTuple):
    """A part of the rows, and its P@1 on the rows held out, in points."""

    keep: float
    precision: float


def smallest_part(
    clf: AnyModel,
    max_loss: float,
    *,
    seed: int = 0,
    tell: Callable[[PartTrial], None] | None = None,
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
    tell : callable, optional
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
    tell = tell or (lambda trial: None)
    whole, X, y = _without_held_out(clf, seed)
    wanted = 100 * whole.score(X, y) - max_loss
    tell(PartTrial(1.0, wanted + max_loss))
    for keep in PARTS:
        precision = 100 * copy.deepcopy(whole).compress(keep).score(X, y)
        tell(PartTrial(keep, precision))
        if precision >= wanted:
            return keep
    return 1.0


def _without_held_out(clf: AnyModel, seed: int) -> tuple[AnyModel, Any, Any]:
    """Fit a model like this one without some rows; return it and these rows."""
    model = compact(clf.current_model())
    X, y = _matrices(unscaled_rows(model), model.checked_labels)
    (fold,) = Split(min(_HELD_OUT, _MOST_HELD_OUT / X.shape[0]), seed=seed).of(X.shape[0])
    params = clf.get_params()
    more: dict[str, Any] = {}
    if not is_ranked(clf):
        more["feature_weights"] = model.feature_weights
    elif clf.keep < 1:
        raise ValueError("the rows stand for others already; fit again to keep another part")
    fitted = type(clf)(**params).fit(X[fold.train], y[fold.train], **more)
    return fitted, X[fold.test], y[fold.test]


def _matrices(rows: ValueRows, labels: LabelRows) -> tuple[Any, Any]:
    n_rows, ones = labels.n_rows, np.ones(labels.indices.size, np.int8)
    return (
        to_csr(rows.indptr, rows.indices, rows.values, (n_rows, rows.n_features)),
        to_csr(labels.indptr, labels.indices, ones, (n_rows, labels.n_labels)),
    )
