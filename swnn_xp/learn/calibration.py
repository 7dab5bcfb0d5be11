"""Probabilities that mean something: of labels said to be 0.8 likely, 0.8 are right.

A map from score to probability, fitted on scores of rows that had no part in them. It never falls,
so the order of labels stays; it is a table of steps, looked up by comparing, so that every backend
gives the same bits.

A calibration as arrays and JSON, and back; what comes back is checked at once.

From the score of a ranked label to the probability that it is right, and to a prediction.

Calibrated votes: what the share of a label has meant for training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from swnn_xp.backends import Options, Settings
from swnn_xp.backends.index import host_search
from swnn_xp.model.files import Extra, SavedModel
from swnn_xp.model.model import Model
from swnn_xp.results import Neighbours, RankedProbabilities, Ranking
from swnn_xp.rows.records import LabelRows, pointers_of_sizes, take_rows
from swnn_xp.search import without_own
from swnn_xp.store import StoreError
from swnn_xp.vote import shares, vote

MOST_ROWS = 10_000
"""Rows that a map is fitted on, at most."""
_FEWEST_PAIRS = 100  # fewer say too little
_LABELS = 10  # best labels of a row that a map is fitted on
_GROUPS = 500  # of scores, which share a step


@dataclass(frozen=True, eq=False)
class Calibration:
    """Steps from score to probability, and the score from which on labels are predicted.

    The arrays may come from a file: `check` looks at every number.
    """

    ends: NDArray[np.float64]
    """(n_steps - 1,): scores at which the next step begins, ascending."""
    values: NDArray[np.float64]
    """(n_steps,): probabilities, never falling."""
    threshold: float
    """Score from which on a label counts as predicted: the best micro-F1 on the rows used."""

    def probabilities(self, scores: Any) -> Any:
        """Probability of each score, in the library and on the device of the scores.

        Examples
        --------
        >>> steps = Calibration(np.asarray([0.0]), np.asarray([0.25, 0.75]), 0.0)
        >>> steps.probabilities(np.asarray([[-1.0, 0.0]])).tolist()
        [[0.25, 0.75]]
        """
        if isinstance(scores, np.ndarray):  # a single answer must not wait for the array API
            return self.values[self.ends.searchsorted(scores, "right")]
        xp, dev = array_namespace(scores), device(scores)
        ends, values = (xp.asarray(part.copy(), device=dev) for part in (self.ends, self.values))
        at = xp.searchsorted(ends, xp.reshape(scores, (-1,)), side="right")
        return xp.reshape(xp.take(values, at), scores.shape)

    def check(self) -> None:
        """Raise ValueError unless the arrays are such a map.

        Examples
        --------
        >>> Calibration(np.asarray([0.0]), np.asarray([0.75, 0.25]), 0.0).check()
        Traceback (most recent call last):
        ValueError: calibrated probabilities must lie in 0..1 and never fall
        """
        ends, values = self.ends, self.values
        fits = ends.dtype == values.dtype == np.float64 and ends.ndim == values.ndim == 1
        if not fits or values.size != ends.size + 1:
            raise ValueError("the calibration must be rows of float64, one value more than ends")
        if not np.isfinite(ends).all() or np.any(ends[1:] <= ends[:-1]):
            raise ValueError("the calibration's ends must be finite and ascend")
        if not np.all((values >= 0) & (values <= 1)) or np.any(values[1:] < values[:-1]):
            raise ValueError("calibrated probabilities must lie in 0..1 and never fall")
        if not np.isfinite(self.threshold):
            raise ValueError("the calibration's threshold must be finite")


def predicted(scores: Any, threshold: float | str, calibration: Calibration | None) -> Any:
    """Which scores are high enough to predict their label.

    A number is the probability to be passed. "f1" is the score that the calibration names, or one
    half where there is none. Without a calibration, scores are probabilities.

    Examples
    --------
    >>> steps = Calibration(np.asarray([0.0]), np.asarray([0.25, 0.75]), -1.0)
    >>> scores = np.asarray([-2.0, -1.0, 0.0])
    >>> [predicted(scores, threshold, steps).tolist() for threshold in ("f1", 0.5)]
    [[False, True, True], [False, False, True]]
    """
    if calibration is None:
        return scores > (0.5 if isinstance(threshold, str) else float(threshold))
    if isinstance(threshold, str):
        return scores >= calibration.threshold
    return calibration.probabilities(scores) > float(threshold)


class Judgement(NamedTuple):
    """Candidates of rows that had no part in their scores; the candidates of a row side by side."""

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    scores: NDArray[np.float64]
    right: NDArray[np.bool_]
    n_positives: int
    """Labels of these rows, those that are no candidates too."""


def chosen_rows(n_rows: int, share: float, seed: int) -> NDArray[np.int64]:
    """Rows to fit a map on, ascending.

    Examples
    --------
    >>> chosen_rows(50, 0.1, seed=0).size
    5
    """
    wanted = min(int(np.ceil(n_rows * share)), MOST_ROWS)
    return np.sort(np.random.default_rng(seed).choice(n_rows, wanted, replace=False))


def fit_calibration(judged: Judgement) -> Calibration | None:
    """Fit the map on the best labels of each row, the threshold on all; None for too few pairs."""
    order = np.lexsort((judged.labels, -judged.scores, judged.rows))
    best = order[_place_in_row(judged.rows[order]) < _LABELS]
    if best.size < _FEWEST_PAIRS:
        return None
    ends, values = isotonic(judged.scores[best], judged.right[best])
    threshold = f1_threshold(judged.scores, judged.right, judged.n_positives)
    return Calibration(ends, values, threshold)


def isotonic(
    scores: NDArray[np.float64], right: NDArray[np.bool_], n_groups: int = _GROUPS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps that rise with the score and are closest to what is right, by least squares.

    Pool adjacent violators, on groups of neighbouring scores: a step that rests on a handful of
    pairs would say 0 or 1 where nobody knows.

    Examples
    --------
    >>> ends, values = isotonic(np.asarray([0.0, 1, 2, 3]), np.asarray([0, 1, 0, 1], bool))
    >>> ends.tolist(), values.tolist()
    ([1.0, 3.0], [0.0, 0.5, 1.0])
    """
    order = np.argsort(scores, kind="stable")
    scores, right = scores[order], right[order]
    wanted = np.linspace(0, scores.size, min(n_groups, scores.size) + 1).astype(np.int64)[:-1]
    firsts = np.unique(np.searchsorted(scores, scores[wanted]))  # equal scores stay together
    hits = np.add.reduceat(right.astype(np.int64), firsts).tolist()
    sizes = np.diff(np.append(firsts, scores.size)).tolist()
    blocks: list[tuple[int, int, int]] = []  # first score's place, hits, size
    for block in zip(firsts.tolist(), hits, sizes, strict=True):
        while blocks and blocks[-1][1] * block[2] >= block[1] * blocks[-1][2]:
            first, hit, size = blocks.pop()
            block = first, hit + block[1], size + block[2]
        blocks.append(block)
    begins = np.asarray([first for first, _, _ in blocks[1:]], np.int64)
    return scores[begins], np.asarray([hit / size for _, hit, size in blocks])


def f1_threshold(scores: NDArray[np.float64], right: NDArray[np.bool_], n_positives: int) -> float:
    """Score from which on labels are to be predicted for the largest micro-F1.

    Examples
    --------
    >>> f1_threshold(np.asarray([3.0, 2, 1, 0]), np.asarray([1, 1, 0, 0], bool), 2)
    2.0
    """
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(right[order])
    quality = 2.0 * hits / (np.arange(1, hits.size + 1) + n_positives)
    last = np.append(np.diff(scores[order]) != 0, True)  # equal scores are predicted together
    return float(scores[order][np.argmax(np.where(last, quality, -1.0))])


def _place_in_row(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Place of each pair among those of its row, which stand side by side."""
    firsts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1])) if rows.size else rows
    sizes = np.diff(np.append(firsts, rows.size))
    return np.arange(rows.size) - np.repeat(pointers_of_sizes(sizes)[:-1], sizes)


_ENDS, _VALUES, _THRESHOLD = "calibration_ends", "calibration_values", "threshold"


def stored_calibration(calibration: Calibration) -> Extra:
    """Arrays and numbers to store."""
    arrays = {_ENDS: calibration.ends, _VALUES: calibration.values}
    return Extra(arrays, {_THRESHOLD: calibration.threshold})


def calibration_from(saved: SavedModel) -> Calibration | None:
    """What a folder holds; None if it holds none, StoreError if it can't be one."""
    arrays, meta = saved.extra
    if _ENDS not in arrays and _VALUES not in arrays and _THRESHOLD not in meta:
        return None
    try:
        threshold = meta[_THRESHOLD]
        if type(threshold) not in (int, float):
            raise TypeError(f"{_THRESHOLD}: {threshold!r}")
        calibration = Calibration(arrays[_ENDS], arrays[_VALUES], float(threshold))
    except (KeyError, TypeError, OverflowError) as error:
        raise StoreError(saved.path, f"manifest.json lacks or garbles {error}") from error
    try:
        calibration.check()
    except ValueError as error:
        raise StoreError(saved.path, str(error)) from error
    return calibration


def probability(scores: Any, calibration: Calibration | None = None) -> Any:
    """Probability that a label of this score is right.

    Without a calibration it follows from the loss: the minimum of the expected squared hinge is at
    ``score = 2 * probability - 1``.

    Examples
    --------
    >>> import numpy as np
    >>> probability(np.asarray([-1.5, 0.0, 0.5])).tolist()
    [0.0, 0.5, 0.75]
    """
    if calibration is not None:
        return calibration.probabilities(scores)
    xp = array_namespace(scores)
    half = (scores + 1.0) * 0.5
    half = xp.where(half > 0, half, xp.zeros_like(half))
    return xp.where(half < 1, half, xp.ones_like(half))


def with_probabilities(ranking: Ranking, calibration: Calibration | None) -> RankedProbabilities:
    """Add the probability of each label; 0 where there is none."""
    labels, scores = ranking
    # A single answer must not wait for the array API.
    xp: Any = np if isinstance(scores, np.ndarray) else array_namespace(scores)
    likely = probability(scores, calibration)
    return RankedProbabilities(labels, scores, xp.where(labels >= 0, likely, 0 * likely))


def ones(scores: Any, calibration: Calibration | None) -> Any:
    """Ones: the values of labels that are predicted."""
    xp = array_namespace(scores)
    return xp.ones(scores.shape, dtype=xp.int8, device=device(scores))


def positive(scores: Any, calibration: Calibration | None) -> Any:
    """Map scores to positive numbers in the same order; see `SWNNRanker.decision_function`."""
    xp = array_namespace(scores)
    above = scores > 0
    one = xp.ones_like(scores)
    return xp.where(above, one + scores, one / (one - xp.where(above, one * 0, scores)))


def is_predicted(scores: Any, threshold: float | str, calibration: Calibration | None) -> Any:
    """Whether a label of this score is predicted; see `predicted`.

    Examples
    --------
    >>> import numpy as np
    >>> is_predicted(np.asarray([-0.5, 0.5]), 0.2, None).tolist()
    [True, True]
    """
    likely = probability(scores) if calibration is None else scores
    return predicted(likely, threshold, calibration)


def by_label(
    labels: Any,
    scores: Any,
    values: Callable[[Any, Calibration | None], Any],
    threshold: float | str | None,
    calibration: Calibration | None,
) -> tuple[Any, Any, Any]:
    """Pointers, labels and values of a CSR matrix of candidates, or of those that are predicted."""
    xp = array_namespace(labels)
    order = xp.argsort(labels, axis=1, stable=True)
    labels, scores = (xp.take_along_axis(part, order, axis=1) for part in (labels, scores))
    kept = labels >= 0
    if threshold is not None:
        kept = kept & is_predicted(scores, threshold, calibration)
    sizes = xp.sum(xp.astype(kept, xp.int64), axis=1)
    indptr = xp.cumulative_sum(sizes, dtype=xp.int64, include_initial=True)
    return indptr, labels[kept], values(scores[kept], calibration)


_BLOCK = 1024
_SEED = 0


@dataclass(frozen=True, eq=False)
class CalibratedVotes:
    """A map from shares to probabilities, and the settings whose votes it was fitted on."""

    calibration: Calibration | None
    """None where there were too few rows."""
    settings: Settings

    def check(self) -> None:
        """Raise ValueError if the map can't be one."""
        if self.calibration is not None:
            self.calibration.check()


def calibrate_votes(model: Model, settings: Settings, options: Options) -> CalibratedVotes:
    """Fit a map on the votes for at most 10,000 training rows, each without its own vote."""
    rows, labels = model.rows(), model.checked_labels
    search = host_search(model.segments[0], model.placement, options)
    parts = []
    chosen = chosen_rows(rows.n_rows, 1.0, _SEED)
    for first in range(0, chosen.size, _BLOCK):
        own = chosen[first : first + _BLOCK]
        found = search(take_rows(rows, own), settings.n_neighbors + 1, settings.beta)
        parts.append(_judged(without_own(found, own, settings.n_neighbors), own, labels, settings))
    rows_of, labels_of, scores, right = (
        np.concatenate([part[i] for part in parts]) for i in range(4)
    )
    n_positives = sum(part.n_positives for part in parts)
    judged = Judgement(rows_of, labels_of, scores, right, n_positives)
    return CalibratedVotes(fit_calibration(judged), settings)


def fitting_calibration(
    calibrated: CalibratedVotes | None, settings: Settings
) -> Calibration | None:
    """The map for votes with these settings; ValueError if it was fitted for others."""
    if calibrated is None:
        raise ValueError("the model was fitted without calibrate=True: call fit again")
    if calibrated.settings != settings:
        raise ValueError(f"the model was calibrated for {calibrated.settings}: call fit again")
    return calibrated.calibration


def stored_votes(calibrated: CalibratedVotes) -> Extra:
    """Arrays and numbers to store."""
    meta = {"calibrated_for": dict(calibrated.settings._asdict())}
    if calibrated.calibration is None:
        return Extra({}, meta)
    arrays, more = stored_calibration(calibrated.calibration)
    return Extra(arrays, meta | dict(more))


def votes_from(saved: SavedModel) -> CalibratedVotes | None:
    """What a folder holds; None if it holds none, StoreError if it can't be one."""
    if "calibrated_for" not in saved.extra.meta:
        return None
    try:
        known: dict[str, Any] = saved.extra.meta["calibrated_for"]
        settings = Settings(int(known["n_neighbors"]), float(known["alpha"]), float(known["beta"]))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise StoreError(saved.path, f"manifest.json lacks or garbles {error}") from error
    return CalibratedVotes(calibration_from(saved), settings)


def _judged(
    found: Neighbours, own: NDArray[np.int64], labels: LabelRows, settings: Settings
) -> Judgement:
    votes, truth = vote(found, labels, settings.alpha), take_rows(labels, own)
    rows, numbers = _pairs(votes.indptr, votes.labels, labels.n_labels)
    _, true = _pairs(truth.indptr, truth.indices, labels.n_labels)
    return Judgement(own[rows], votes.labels, shares(votes), np.isin(numbers, true), true.size)


def _pairs(
    indptr: NDArray[np.int64], labels: NDArray[Any], n_labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row of each label, and one number for row and label."""
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    return rows, rows * n_labels + labels
