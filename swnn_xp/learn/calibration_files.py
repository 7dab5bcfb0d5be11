"""A calibration as arrays and JSON, and back; what comes back is checked at once."""

from __future__ import annotations

from swnn_xp.learn.calibration import Calibration
from swnn_xp.model.files import Extra, SavedModel
from swnn_xp.store import StoreError

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
