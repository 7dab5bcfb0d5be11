"""The neighbours of all training rows, kept beside a ranking: relearning starts from them.

A row's neighbours change only where one of them was removed or a new row is near, so
`refresh_neighbours` searches again for these rows only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.known_neighbours import mark_near, similarities
from swnn_xp.model.model import Model
from swnn_xp.results import Neighbours
from swnn_xp.rows.records import QuantisedRows, take_rows

SearchPositions = Callable[[NDArray[np.int64]], Iterator[tuple[NDArray[np.int64], Neighbours]]]
"""Searches the rows at these positions, a block at a time."""
_LARGEST_ID = 2**31 - 1
_AT_ONCE = 1 << 20  # neighbours that are looked up at a time: temporaries stay below 40 MB
_NEARLY = 1 - 1e-9  # powers differ between libraries in the last place


class KnownNeighbours(NamedTuple):
    """Who was near to whom, by row ids; the arrays may come from a file."""

    rows: NDArray[np.int64]
    """(n_rows,), ascending: the rows whose neighbours are known."""
    neighbours: NDArray[np.int32]
    """(n_rows, S + 1), nearest first, the row itself among them; -1 where there is none."""

    def check(self) -> None:
        """Raise ValueError if the arrays can't be ids of rows and of their neighbours."""
        rows, near = self
        if rows.dtype != np.int64 or near.dtype != np.int32:
            raise ValueError("neighbour_rows must be int64, neighbours int32")
        if rows.ndim != 1 or near.ndim != 2 or near.shape[0] != rows.size or not near.shape[1]:
            raise ValueError("neighbours must have one line for each of neighbour_rows")
        if rows.size and (rows[0] < 0 or rows[-1] > _LARGEST_ID or np.any(np.diff(rows) <= 0)):
            raise ValueError("neighbour_rows must be ids that ascend")
        if near.size and near.min() < -1:
            raise ValueError("neighbours must be ids of rows, or -1")


def record_neighbours(
    found: Iterator[Neighbours], n_rows: int, width: int, known: list[KnownNeighbours]
) -> Iterator[Neighbours]:
    """Pass on the neighbours of successive blocks of rows; append all of them to ``known``."""
    table, first = np.empty((n_rows, min(width, max(1, n_rows))), np.int32), 0
    for block in found:
        table[first : first + block.ids.shape[0]] = block.ids[:, : table.shape[1]]
        first += block.ids.shape[0]
        yield block
    known.append(KnownNeighbours(np.arange(n_rows), table))


def by_id(model: Model, table: NDArray[np.int32]) -> KnownNeighbours | None:
    """Turn a table of neighbours by position into one by id, without removed rows.

    None if an id needs more than 31 bits.
    """
    if model.next_id > _LARGEST_ID:
        return None
    ids = np.arange(model.n_positions) if model.row_ids is None else model.row_ids
    if model.removed is not None:
        table = table[~model.removed]
    if model.row_ids is not None:
        by_position, table = table, np.empty_like(table)
        for some in _blocks(table):
            table[some] = np.where(by_position[some] >= 0, ids[by_position[some]], -1)
    return KnownNeighbours(ids if model.removed is None else ids[~model.removed], table)


def refresh_neighbours(
    model: Model,
    known: KnownNeighbours | None,
    rows: QuantisedRows,
    width: int,
    search: SearchPositions,
) -> NDArray[np.int32]:
    """Neighbours of all rows by position, (n_positions, width); lines of removed rows are -1.

    Parameters
    ----------
    model : Model
        Of a ranker.
    known : KnownNeighbours or None
        Neighbours of its rows at the last training, to be brought up to date.
    rows : QuantisedRows
        Its rows, as they are searched.
    width : int
        Number of neighbours.
    search : callable
    """
    there = live_mask(model)
    table = np.full((model.n_positions, width), -1, np.int32)
    asked = there.copy()
    if known is not None:
        known.check()
        if known.neighbours.shape[1] >= width:
            asked &= ~_take_known(model, known, table)
            is_new, at = there.copy(), _positions(model, known.rows)
            is_new[at[at >= 0]] = False
            _add_near(model, rows, table, is_new, asked)
    for positions, found in search(np.flatnonzero(asked)):
        table[positions] = found.ids
    return table


def live_mask(model: Model) -> NDArray[np.bool_]:
    """Marks of positions that were not removed."""
    return np.ones(model.n_positions, bool) if model.removed is None else ~model.removed


def _take_known(
    model: Model, known: KnownNeighbours, table: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Fill the lines of rows none of whose neighbours was removed; return marks of these rows."""
    marks, all_near = np.zeros(model.n_positions, bool), known.neighbours[:, : table.shape[1]]
    for some in _blocks(all_near):
        at, near = _positions(model, known.rows[some]), all_near[some]
        found = _positions(model, near)
        whole = (at >= 0) & ((found >= 0) | (near < 0)).all(axis=1)
        table[at[whole]] = found[whole]
        marks[at[whole]] = True
    return marks


def _blocks(near: NDArray[np.int32]) -> Iterator[slice]:
    """Runs of lines to be looked up at once."""
    step = max(1, _AT_ONCE // max(1, near.shape[1]))
    return (slice(first, first + step) for first in range(0, near.shape[0], step))


def _positions(model: Model, ids: NDArray[np.integer]) -> NDArray[np.integer]:
    """Position of each id; -1 where there is no such row."""
    if not model.n_positions:
        return np.full(ids.shape, -1)
    last, at = model.n_positions - 1, ids
    if model.row_ids is not None:
        at = np.searchsorted(model.row_ids, ids)
    held = np.clip(at, 0, last)
    same = held == ids if model.row_ids is None else model.row_ids[held] == ids
    return np.where(same & live_mask(model)[held], held, -1)


def _add_near(
    model: Model,
    rows: QuantisedRows,
    table: NDArray[np.int32],
    is_new: NDArray[np.bool_],
    asked: NDArray[np.bool_],
) -> None:
    """Mark the rows that have a new row among their neighbours, or may have one."""
    n_new = int(np.count_nonzero(is_new))
    if not n_new:
        return
    if n_new * table.shape[1] >= model.n_rows:  # nearly all of them have
        asked |= live_mask(model)
        return
    settled = np.flatnonzero(~asked & live_mask(model))
    beta = model.ranking.settings.beta
    least = np.full(model.n_positions, np.inf)
    least[settled] = similarities(rows, settled, table[settled, -1:], beta)[:, 0] * _NEARLY
    asked |= mark_near(rows, take_rows(rows, np.flatnonzero(is_new)), least, beta)
