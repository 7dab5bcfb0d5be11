"""What was learned as arrays and JSON, and back; what comes back is not trusted."""

from __future__ import annotations

from typing import Any

from swnn_kernels.learn.candidates import Selection
from swnn_kernels.learn.scorer import Ranker
from swnn_xp.learn.calibration_files import calibration_from, stored_calibration
from swnn_xp.learn.known_neighbours import KnownNeighbours
from swnn_xp.learn.records import Learned
from swnn_xp.learn.settings import Rule
from swnn_xp.learn.staleness import Trained
from swnn_xp.model.files import Extra, SavedModel
from swnn_xp.store import StoreError

_ARRAYS = Ranker._fields[:-1]
_NEIGHBOURS = "neighbour_rows", "neighbours"
_LARGEST, _LARGEST_ID = 2**31, 2**62


def stored_learned(learned: Learned) -> Extra:
    """Arrays and numbers to store."""
    arrays = {name: getattr(learned.ranker, name) for name in _ARRAYS}
    meta = {
        "shift": learned.ranker.shift,
        "cuts": list(learned.selection.cuts),
        "n_candidates": learned.selection.n_candidates,
        "alpha": learned.selection.alpha,
        "beta": learned.beta,
        "recall": learned.recall,
        "rule": learned.rule._asdict(),
    }
    if learned.trained is not None:
        n_rows, next_id, arrays["label_rows"], arrays["label_next_ids"] = learned.trained
        meta |= {"n_rows": n_rows, "next_id": next_id}
    if learned.known is not None:
        arrays |= dict(zip(_NEIGHBOURS, learned.known, strict=True))
    if learned.calibration is not None:
        more = stored_calibration(learned.calibration)
        return Extra(arrays | dict(more.arrays), meta | dict(more.meta))
    return Extra(arrays, meta)


def learned_from(saved: SavedModel, n_features: int) -> Learned:
    """What a folder holds; StoreError if it can't be that. Arrays are checked before first use."""
    arrays, meta = saved.extra
    try:
        own = {name: arrays[name] for name in _ARRAYS}
        ranker = Ranker(**own, shift=_count(meta["shift"]))
        cuts = tuple(_count(cut) for cut in meta["cuts"])
        if not cuts or any(a >= b for a, b in zip((0, *cuts), cuts, strict=False)):
            raise ValueError(f"cuts {cuts} must ascend from 1")
        n_candidates = _count(meta["n_candidates"])
        if not 1 <= n_candidates <= max(1, saved.counts["n_labels"]):  # they decide on memory
            raise ValueError(f"n_candidates: {n_candidates}")
        selection = Selection(cuts, n_candidates, _number(meta["alpha"]))
        rule = Rule(**{name: _number(value) for name, value in meta["rule"].items()})
        beta, recall = _number(meta["beta"]), _number(meta["recall"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise StoreError(saved.path, f"manifest.json lacks or garbles {error}") from error
    if ranker.modelled.size > saved.counts["n_labels"]:
        raise StoreError(saved.path, "the ranker has more labels than the model")
    params = {"rare_labels": 0.0}  # older models do not name it
    params |= {name: value for name, value in saved.params.items() if name != "threshold"}
    more = calibration_from(saved), _trained_from(saved), _known_from(saved)
    return Learned(ranker, selection, beta, n_features, recall, rule, *more, params)


def _trained_from(saved: SavedModel) -> Trained | None:
    """What the rows were at training; None in models of older versions."""
    arrays, meta = saved.extra
    if "label_rows" not in arrays:
        return None
    try:
        counts = _count(meta["n_rows"]), _count(meta["next_id"], _LARGEST_ID)
        trained = Trained(*counts, arrays["label_rows"], arrays["label_next_ids"])
        trained.check()
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(saved.path, f"manifest.json lacks or garbles {error}") from error
    return trained


def _known_from(saved: SavedModel) -> KnownNeighbours | None:
    """Neighbours of the rows, not looked at: that would read all of them."""
    arrays = saved.extra.arrays
    if not set(_NEIGHBOURS) <= arrays.keys():
        return None
    return KnownNeighbours(*(arrays[name] for name in _NEIGHBOURS))


def _count(value: Any, limit: int = _LARGEST) -> int:
    if type(value) is not int or not 0 <= value < limit:
        raise ValueError(f"{value!r} is not a count")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < float("inf"):
        raise ValueError(f"{value!r} is not a number of at least 0")
    return float(value)
