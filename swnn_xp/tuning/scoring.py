"""Metrics by their names, and the rows that are held out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_xp import metrics

_NAME = re.compile(r"(P|nDCG|PSP|PSnDCG|R)@([1-9][0-9]{0,3})", re.IGNORECASE)
_PLAIN = {
    "p": metrics.precision_at_k,
    "r": metrics.recall_at_k,
    "ndcg": metrics.ndcg_at_k,
}
_WEIGHED = {"psp": metrics.psp_at_k, "psndcg": metrics.psndcg_at_k}


class Metric(NamedTuple):
    """A metric at some k."""

    name: str
    k: int
    propensity: tuple[float, float]

    def measure(self, Y_train: Any) -> Callable[[Any, NDArray[np.integer]], float]:
        """The metric as a function of true labels and ranking, for these training labels."""
        kind = self.name.partition("@")[0].lower()
        if kind in _PLAIN:
            return lambda Y_true, labels: _PLAIN[kind](Y_true, labels, self.k)
        weights = metrics.propensities(Y_train, *self.propensity)
        return lambda Y_true, labels: _WEIGHED[kind](Y_true, labels, self.k, weights)


def parse_metric(name: str, propensity: tuple[float, float] = (0.55, 1.5)) -> Metric:
    """Read a metric's name.

    Examples
    --------
    >>> parse_metric("ndcg@5")[:2]
    ('nDCG@5', 5)
    """
    match = _NAME.fullmatch(name.strip())
    if not match:
        raise ValueError(f"metric must be P@k, R@k, nDCG@k, PSP@k or PSnDCG@k, not {name!r}")
    kind, k = match.groups()
    known = {text.lower(): text for text in ("P", "R", "nDCG", "PSP", "PSnDCG")}
    return Metric(f"{known[kind.lower()]}@{k}", int(k), propensity)


class Fold(NamedTuple):
    """Rows to learn from and rows to ask, both ascending."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


def held_out(n_rows: int, holdout: float, folds: int, seed: int) -> list[Fold]:
    """Split rows at random: one hold-out part, or as many folds as asked for.

    Parameters
    ----------
    n_rows : int
    holdout : float
        Share of the rows if below 1, else their number; it counts where ``folds`` is 1.
    folds : int
        1 for a hold-out part; from 2 on every row is asked once.
    seed : int

    Examples
    --------
    >>> [fold.test.size for fold in held_out(10, 0.2, 1, 0)]
    [2]
    >>> sorted(row for fold in held_out(5, 0, 2, 0) for row in fold.test.tolist())
    [0, 1, 2, 3, 4]
    """
    if not 1 <= folds <= n_rows:
        raise ValueError(f"folds must be between 1 and the {n_rows} rows, got {folds}")
    order = np.random.default_rng(seed).permutation(n_rows)
    if folds > 1:
        return list(_folds(np.array_split(order, folds)))
    size = 0  # of inf and nan, which are no number of rows
    if math.isfinite(holdout):
        size = round(n_rows * holdout) if holdout < 1 else int(holdout)
    if not 1 <= size < n_rows:
        raise ValueError(f"holdout = {holdout:g} of {n_rows} rows leaves no row to ask or to learn")
    return list(_folds([order[:size], order[size:]]))[:1]


def _folds(parts: list[NDArray[np.int64]]) -> Iterator[Fold]:
    for i, part in enumerate(parts):
        others = np.concatenate([*parts[:i], *parts[i + 1 :]])
        yield Fold(np.sort(others), np.sort(part))
