"""How settings are scored: the metric by its name, and the rows that are held out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
_WEIGHTED = {"psp": metrics.psp_at_k, "psndcg": metrics.psndcg_at_k}
_MAX_ROWS = 10_000  # held out by default


class Metric(NamedTuple):
    """A metric at some k."""

    name: str
    k: int
    propensity: tuple[float, float]

    def measure(self, y_train: Any) -> Callable[[Any, NDArray[np.integer]], float]:
        """The metric as a function of true labels and ranking, for these training labels."""
        family = self.name.partition("@")[0].lower()
        if family in _PLAIN:
            return lambda y_true, labels: _PLAIN[family](y_true, labels, self.k)
        weights = metrics.propensities(y_train, *self.propensity)
        return lambda y_true, labels: _WEIGHTED[family](y_true, labels, self.k, weights)


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
    family, k = match.groups()
    known = {text.lower(): text for text in ("P", "R", "nDCG", "PSP", "PSnDCG")}
    return Metric(f"{known[family.lower()]}@{k}", int(k), propensity)


class Fold(NamedTuple):
    """Rows to learn from and rows to test on, both ascending."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    leave_one_out: bool = False
    """Rows to ask are rows to learn from: none of them counts for itself."""


@dataclass(frozen=True)
class Split:
    """Which rows are held out of the training set; at random, by scikit-learn (extra ``tune``).

    Attributes
    ----------
    holdout : float, optional
        Share of the rows (below 1) or number of rows, used if ``folds`` is 1; of groups, as large
        a share. Default: a fifth, at most 10,000 rows.
    folds : int
        From 2 on: cross-validation, in which every row is asked once.
    seed : int
        Of the random order.
    groups : sequence, optional
        The group of each row, such as its source or author: rows of a group are held out together.
        Without it, near-duplicates of a held-out row stay among the rows to learn from, and small S
        look better than they are.
    last : bool
        Hold out the last rows instead of random ones: for rows in the order of time.
    leave_one_out : bool
        Hold no row out: each row asked is a row to learn from that does not vote for itself. The
        rows asked are ``holdout`` of them; default: all, at most 10,000.

    Examples
    --------
    >>> [fold.test.size for fold in Split(holdout=0.2).of(10)]
    [2]
    >>> sorted(row for fold in Split(folds=2).of(5) for row in fold.test.tolist())
    [0, 1, 2, 3, 4]
    """

    holdout: float | None = None
    folds: int = 1
    seed: int = 0
    groups: Sequence[Any] | None = None
    last: bool = False
    leave_one_out: bool = False

    def of(self, n_rows: int) -> list[Fold]:
        """Split rows: one held-out part, or as many folds as asked for."""
        if not 1 <= self.folds <= n_rows:
            raise ValueError(f"folds must be between 1 and the {n_rows} rows, got {self.folds}")
        self._check_ways()
        rows = np.arange(n_rows)
        if self.leave_one_out:
            asked = np.random.default_rng(self.seed).permutation(n_rows)[: self._asked(n_rows)]
            return [Fold(rows, np.sort(asked), True)]
        if self.last:
            n_out = self._held_out(n_rows)
            return [Fold(rows[:-n_out], rows[-n_out:])]
        parts = self._splitter(n_rows).split(rows, groups=self.groups)
        return [Fold(np.sort(train), np.sort(test)) for train, test in parts]

    def __str__(self) -> str:
        if self.leave_one_out:
            return "each row left out in turn"
        way = "by group" if self.groups is not None else "at random"
        if self.folds > 1:
            return f"{self.folds} folds {way}"
        return "the last rows held out" if self.last else f"held out {way}"

    def _check_ways(self) -> None:
        ways = {"folds": self.folds > 1, "groups": self.groups is not None, "last": self.last}
        chosen = [name for name, given in ways.items() if given]
        if self.leave_one_out and chosen:
            raise ValueError(f"leave_one_out and {chosen[0]} can't be combined")
        if self.last and len(chosen) > 1:
            raise ValueError(f"last and {chosen[0]} can't be combined")

    def _splitter(self, n_rows: int) -> Any:
        """The splitter of scikit-learn for rows or for groups, of one part or of folds."""
        try:
            from sklearn import model_selection
        except ImportError as error:
            needs = "tuning on rows held out at random needs scikit-learn"
            raise ImportError(f"{needs}: pip install 'swnn-xp[tune]'") from error
        by_group = self.groups is not None
        n_groups = self._n_groups(n_rows) if by_group else n_rows
        if self.folds > 1:
            of_folds = model_selection.GroupKFold if by_group else model_selection.KFold
            return of_folds(self.folds, shuffle=True, random_state=self.seed)
        n_out = self._held_out(n_rows)
        if by_group:
            n_out = min(math.ceil(n_out / n_rows * n_groups), n_groups - 1)
        of_part = model_selection.GroupShuffleSplit if by_group else model_selection.ShuffleSplit
        return of_part(1, test_size=n_out, random_state=self.seed)

    def _n_groups(self, n_rows: int) -> int:
        groups = np.asarray(self.groups)
        if groups.shape != (n_rows,):
            raise ValueError(f"there are groups of {groups.size} rows, but {n_rows} rows")
        n_groups = np.unique(groups).size
        if n_groups < max(self.folds, 2):
            raise ValueError(f"{n_groups} groups are too few to hold some of them out")
        return n_groups

    def _asked(self, n_rows: int) -> int:
        return min(n_rows, _MAX_ROWS) if self.holdout is None else self._held_out(n_rows)

    def _held_out(self, n_rows: int) -> int:
        wanted = self.holdout
        if wanted is None:
            wanted = min(round(n_rows / 5), _MAX_ROWS)
        size = 0  # for inf and nan
        if math.isfinite(wanted):
            size = round(n_rows * wanted) if wanted < 1 else int(wanted)
        if not 1 <= size < n_rows:
            raise ValueError(
                f"holdout = {wanted:g} of {n_rows} rows leaves no row to predict or to learn from"
            )
        return size
