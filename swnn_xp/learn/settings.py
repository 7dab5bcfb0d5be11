"""What a user can set of the training, and the rule for what is left to the data."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Auto = Literal["auto"]
Number = TypeVar("Number", int, float)

_LOW_RECALL = 0.7  # of the first 50 candidates
_LOW_AGREEMENT, _HIGH_AGREEMENT = 0.45, 0.65  # of the vote and the labels of a row
MODEL_SCALE_POWER = 0.5  # of feature weights, where label models use them
_USUAL_ROWS = 50  # a label with this many rows gets C itself
_LARGEST_FACTOR = 2.0  # the C of a label differs from that by at most this factor
_NEIGHBOURS, _MORE_NEIGHBOURS = 75, 100
_CANDIDATES, _MORE_CANDIDATES = 100, 200
_POSTINGS = 5_000  # cap of the search
_MANY_ROWS = 100_000
_FIRST_CUTS, _FIRST_CUTS_OF_PART = (5, 25), (1, 5)


class DescentParams(NamedTuple):
    """What dual coordinate descent is given for all labels alike."""

    C: float
    vote_weight: float
    missed: float  # cost of a positive that was no candidate, relative to C; 0 leaves it out
    missed_bias: float  # how far it moves the bias of its label's model
    scale_power: float = 0.0  # models see features scaled by this power of their feature weight


class TrainingSettings(NamedTuple):
    """Settings of `train`; the defaults were chosen by hold-out on training rows of six sets."""

    n_neighbors: int | Auto = "auto"
    alpha: float = 1.0
    beta: float = 1.0
    n_candidates: int | Auto = "auto"
    C: float | Auto = "auto"
    vote_weight: float | Auto = "auto"
    missed: float | Auto = "auto"
    missed_bias: float | Auto = "auto"
    rare_labels: float = 0.0  # weight of a label's rarity in its score
    random_state: int = 0
    n_jobs: int = 1
    memory_budget: int = 10**9
    tolerance: float = 0.2
    passes: int = 20
    dropped: float = 0.05
    C_power: float = 0.25  # C of a label falls with this power of its rows; 0: the same for all
    scale_power: float | Auto = "auto"
    weight_rows: int = 125_000  # most rows that feature weights are learned from
    weight_neighbors: int = _NEIGHBOURS  # that vote while they are learned
    vote_pairs: int = 1_000_000  # pairs that the vote score is fitted on, about
    calibrate: bool = False  # fit probabilities on a tenth of the rows, left out of label models
    centroids: bool | Auto = "auto"
    centroids_scaled: bool = True
    first_cuts: tuple[int, ...] = _FIRST_CUTS  # neighbours that vote at the cuts before the last
    search: Literal["exact", "capped"] | Auto | int = "exact"  # a number caps the postings

    @property
    def postings(self) -> int:
        """Cap of the search for neighbours; 0 if it is exact.

        Examples
        --------
        >>> TrainingSettings(search="capped").postings
        5000
        """
        if self.search == "exact":
            return 0
        return _POSTINGS if isinstance(self.search, str) else self.search

    def for_rows(self, n_rows: int, *, cap_saves_time: bool = True) -> TrainingSettings:
        """Leave the search open only where there are enough rows for a cap to pay off.

        It does not on a device: within a cap, the host searches.
        """
        if self.search == "auto" and (n_rows < _MANY_ROWS or not cap_saves_time):
            return self._replace(search="exact")
        return self

    @property
    def cuts(self) -> tuple[int, ...]:
        """How many neighbours vote at each cut.

        Examples
        --------
        >>> TrainingSettings().cuts
        (5, 25, 75)
        """
        last = _chosen(self.n_neighbors, _NEIGHBOURS)
        return (*(cut for cut in self.first_cuts if cut < last), last)

    def for_weights(self) -> TrainingSettings:
        """Settings of the first round, which learns feature weights: plain and quick.

        They do not depend on what is tuned, so that one first round serves all settings.
        """
        return self._replace(
            n_neighbors=self.weight_neighbors,
            n_candidates=min(_chosen(self.n_candidates, 50), 50),
            C=0.3,
            vote_weight=0.6,
            missed=0.0,
            scale_power=0.0,
            C_power=0.0,
            tolerance=0.5,
            passes=5,
            calibrate=False,
        )

    def with_sizes(self, recall: float) -> TrainingSettings:
        """Choose neighbours and candidates by the recall of the first round, if they are not set.

        Where few of a row's labels are among its first candidates, more are worth their time.

        Examples
        --------
        >>> [TrainingSettings().with_sizes(recall).n_candidates for recall in (0.9, 0.5)]
        [100, 200]
        """
        low = recall < _LOW_RECALL
        neighbours = _chosen(self.n_neighbors, _MORE_NEIGHBOURS if low else _NEIGHBOURS)
        candidates = _chosen(self.n_candidates, _MORE_CANDIDATES if low else _CANDIDATES)
        return self._replace(n_neighbors=neighbours, n_candidates=candidates)

    def for_part(self, asked: TrainingSettings, keep: float) -> TrainingSettings:
        """Settings for an index that keeps a part of the rows, whose sizes are chosen already.

        A kept row votes for the labels of those that it stands for, so that fewer neighbours say as
        much; the nearest says most. They stay as many as they were if the user asked for a number.

        Examples
        --------
        >>> asked = TrainingSettings()
        >>> asked.with_sizes(0.9).for_part(asked, 0.1).cuts
        (1, 5, 24)
        """
        kept = self._replace(first_cuts=_FIRST_CUTS_OF_PART)
        if asked.n_neighbors != "auto":
            return kept
        whole = _chosen(self.n_neighbors, _NEIGHBOURS)
        return kept._replace(n_neighbors=max(1, round(whole * keep**0.5)))

    def descent_params(
        self, agreement: float, scales_models: bool = False, *, by_name: bool = False
    ) -> DescentParams:
        """Choose what was not set.

        The agreement tells how many of a row's n labels are its n first candidates. Where most are,
        labels are given consistently: models may fit closer and lean less on the vote. Where few
        are, a label is often given for no reason that features tell: the positives that were missed
        teach a model which features matter, but not that the label is more likely than it is.
        Where labels are found by name, too, a positive that is missed all the same teaches nothing.

        Examples
        --------
        >>> TrainingSettings().descent_params(0.3)
        DescentParams(C=0.2, vote_weight=0.65, missed=1.0, missed_bias=0.0, scale_power=0.0)
        """
        trust = (agreement - _LOW_AGREEMENT) / (_HIGH_AGREEMENT - _LOW_AGREEMENT)
        trust = min(1.0, max(0.0, trust))
        return DescentParams(
            C=_chosen(self.C, 0.2 + 0.35 * trust),
            vote_weight=_chosen(self.vote_weight, 0.65 - 0.25 * trust),
            missed=_chosen(self.missed, 0.0 if by_name else 1.0),
            missed_bias=_chosen(self.missed_bias, trust),
            scale_power=_chosen(self.scale_power, MODEL_SCALE_POWER if scales_models else 0.0),
        )


def _chosen(value: Number | Auto, otherwise: Number) -> Number:
    return otherwise if value == "auto" else value


def label_costs(C: float, n_rows: NDArray[np.int64], power: float = 0.25) -> NDArray[np.float64]:
    """C of each label: larger for rare labels, by a power of their number of rows.

    Examples
    --------
    >>> label_costs(0.4, np.asarray([1, 50, 800, 10**6])).round(3).tolist()
    [0.8, 0.4, 0.2, 0.2]
    """
    factors = (np.maximum(n_rows, 1) / _USUAL_ROWS) ** -power
    return C * np.clip(factors, 1 / _LARGEST_FACTOR, _LARGEST_FACTOR)
