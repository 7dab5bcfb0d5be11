"""Calibrated votes: what the share of a label has meant for training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swnn_xp.backends import Options, Settings
from swnn_xp.learn.calibration import Calibration, Judgement, chosen_rows, fit_calibration
from swnn_xp.learn.calibration_files import calibration_from, stored_calibration
from swnn_xp.learn.host_search import host_search
from swnn_xp.model.files import Extra, SavedModel
from swnn_xp.model.model import Model
from swnn_xp.results import Neighbours
from swnn_xp.rows.records import LabelRows
from swnn_xp.rows.slicing import take_rows
from swnn_xp.search.top_rows import without_own
from swnn_xp.store import StoreError
from swnn_xp.vote.votes import shares, vote

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
