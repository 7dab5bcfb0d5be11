"""How one model becomes the next: append, remove, compact, move to another backend or device.

`covering_rows` chooses the rows of a smaller model, so that every label keeps some while they fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swnn_xp.backends import Index, Placement, get_backend
from swnn_xp.model.model import Model
from swnn_xp.rows.input_kind import host_rows
from swnn_xp.rows.records import LabelRows, QuantisedRows, keep_rows, stack_rows

_ROWS_PER_LABEL = 10, 5, 3, 2, 1


def covering_rows(labels: LabelRows, keep: float, seed: int = 0) -> NDArray[np.int64]:
    """Choose a part of the rows, in random order but so that rare labels stay.

    First come rows with a label that has fewer than m rows so far, for the largest m of 10, 5, 3,
    2 and 1 whose rows fit; then any others, until the part is full.

    Parameters
    ----------
    labels : LabelRows
    keep : float
        Part of the rows to keep, above 0 and up to 1; one row at least is kept.
    seed : int

    Returns
    -------
    array of int64
        Positions, ascending.

    Examples
    --------
    >>> labels = LabelRows(np.arange(7), np.asarray([0, 0, 0, 0, 0, 1], np.int32), 2)
    >>> kept = covering_rows(labels, 1 / 3)
    >>> kept.size, bool(5 in kept)
    (2, True)
    """
    wanted = max(1, round(keep * labels.n_rows))
    order = np.random.default_rng(seed).permutation(labels.n_rows)
    first: NDArray[np.int64] = order[:0]
    for fewest in _ROWS_PER_LABEL:
        first = _rows_of_rare_labels(labels, order, fewest, wanted)
        if first.size <= wanted:
            break
    is_first = np.zeros(labels.n_rows, bool)
    is_first[first] = True
    chosen = np.concatenate([first, order[~is_first[order]]])[:wanted]
    return np.sort(chosen)


def _rows_of_rare_labels(
    labels: LabelRows, order: NDArray[np.int64], fewest: int, most: int
) -> NDArray[np.int64]:
    """Rows with a label of which fewer rows are chosen so far; it stops beyond ``most``."""
    counts = np.zeros(labels.n_labels, np.int64)
    starts, indices = labels.indptr.tolist(), labels.indices
    chosen: list[int] = []
    for row in order.tolist():
        its = indices[starts[row] : starts[row + 1]]
        if its.size and counts[its].min() < fewest:
            counts[its] += 1
            chosen.append(row)
            if len(chosen) > most:
                break
    return np.asarray(chosen, np.int64)


_GROWTH = 4  # a segment is merged into the one before unless that is at least 4 times as large


def new_model(
    index_class: type[Index],
    placement: Placement,
    rows: QuantisedRows,
    labels: LabelRows,
    names: Mapping[str, list[str]] | None = None,
) -> Model:
    """Index rows for the first time; their ids are their positions."""
    index = index_class.build(rows, placement)
    return Model((index,), placement, labels, next_id=rows.n_rows, names=names or {})


def append(
    model: Model,
    rows: QuantisedRows,
    labels: LabelRows,
    names: Mapping[str, list[str]],
    values: NDArray[Any] | None = None,
) -> Model:
    """Add rows behind the others; they get the next ids. The names are those of the new model."""
    ids, removed = model.row_ids, model.removed
    new_ids = np.arange(model.next_id, model.next_id + rows.n_rows)
    return replace(
        model,
        segments=_grown(model, rows),
        labels=stack_rows([model.checked_labels, labels]),
        next_id=model.next_id + rows.n_rows,
        row_ids=None if ids is None else np.concatenate([ids, new_ids]),
        removed=None if removed is None else np.concatenate([removed, np.zeros(rows.n_rows, bool)]),
        names=names,
        version=model.version + 1,
        values=None if values is None else np.concatenate([model.values, values]),
        excluded=None if model.excluded is None else _padded(model.excluded, rows.n_rows),
        untrusted=False,
    )


def remove(model: Model, ids: ArrayLike) -> Model:
    """Mark rows as removed; the same model if there are none to remove."""
    positions, old = model.positions_of(ids), model.removed
    if not positions.size:
        return model
    removed = np.zeros(model.n_positions, bool) if old is None else old.copy()
    removed[positions] = True
    marked = replace(model, removed=removed, version=model.version + 1)
    marked.keep_derived(model, "checked_labels", "placed_labels", "placed_ids")
    return marked


def compact(model: Model) -> Model:
    """Index the remaining rows again, as one segment; ids stay."""
    if model.removed is None and len(model.segments) == 1:
        return model
    keep = np.ones(model.n_positions, bool) if model.removed is None else ~model.removed
    ids = np.arange(model.n_positions) if model.row_ids is None else model.row_ids
    rows = model.rows()
    return replace(
        model,
        segments=(_built(model, keep_rows(rows, keep)),),
        labels=keep_rows(model.checked_labels, keep),
        row_ids=None if keep.all() and model.row_ids is None else ids[keep],
        removed=None,
        version=model.version + 1,
        values=_kept_values(model, rows, keep),
        excluded=None if model.excluded is None else keep_rows(model.excluded, keep),
        untrusted=False,
    )


def _padded(excluded: LabelRows, n_rows: int) -> LabelRows:
    """With rows that may get any label behind the others."""
    return excluded._replace(indptr=np.pad(excluded.indptr, (0, n_rows), mode="edge"))


def _kept_values(model: Model, rows: QuantisedRows, keep: NDArray[np.bool_]) -> Any:
    if model.values is None or model.values.shape != rows.indices.shape:  # damaged: refused later
        return model.values
    return model.values[np.repeat(keep, np.diff(rows.indptr))]


def moved(model: Model, backend: str, device: Any) -> Model:
    """Rebuild the model where the user wants it; the same model if it is there.

    ``backend="auto"`` and ``device=None`` leave the model where it is.
    """
    index_class: type[Index] = type(model.segments[0])
    placement = model.placement
    if backend not in ("auto", model.backend):
        index_class = get_backend(backend).load()
        placement = _returned(model.origin, backend, device) or index_class.placement.find(
            backend, device
        )
    elif device is not None:
        placement = placement.moved(device)
    if placement is model.placement:
        return model
    segments = tuple(index_class.build(segment.rows(), placement) for segment in model.segments)
    origin = model.origin or model.placement
    return replace(model, segments=segments, placement=placement, origin=origin)


def _returned(origin: Placement | None, backend: str, device: Any) -> Placement | None:
    """Where the model was at first, if it is moved back there: only it knows the namespace."""
    if origin is None or origin.backend != backend:
        return None
    return origin if device is None else origin.moved(device)


def _grown(model: Model, rows: QuantisedRows) -> tuple[Index, ...]:
    """Segments over the old rows and the new ones.

    Sizes of segments fall by a factor of four at least, so there are few of them, and a row is
    indexed again only each time the model has grown fourfold.
    """
    segments, new, size = list(model.segments), [host_rows(rows)], rows.n_rows
    while segments and segments[-1].n_rows < _GROWTH * size:
        size += segments[-1].n_rows
        new.insert(0, segments.pop().rows())
    return (*segments, _built(model, stack_rows(new)))


def _built(model: Model, rows: QuantisedRows) -> Index:
    return type(model.segments[0]).build(rows, model.placement)
