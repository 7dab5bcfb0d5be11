"""Similarities of rows and their known neighbours, and the rows that new rows are near to."""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import Table, kernel, struct_view, table
from swnn_kernels.fixed_point import similarity
from swnn_kernels.records import Float, Float64, Int32, Int64, QuantisedRows, Uint8, frozen

_open_rows = struct_view(QuantisedRows)


@kernel
def _similarities(
    rows_table: Table[QuantisedRows],
    of: Int64,
    ids: Int32,
    beta: Float,
    scattered: Int32,
    out: Float64,
) -> None:
    rows = _open_rows(rows_table)
    for i in range(of.size):
        first, last = rows.indptr[of[i]], rows.indptr[of[i] + 1]
        for f in range(first, last):  # the last bit marks a feature, for its value may be 0
            scattered[rows.indices[f]] = 2 * rows.quantised[f] + 1
        for j in range(ids.shape[1]):
            out[i, j] = 0.0
            if ids[i, j] < 0:
                continue
            start, end = rows.indptr[ids[i, j]], rows.indptr[ids[i, j] + 1]
            dot = overlap = np.int64(0)
            for f in range(start, end):
                value = np.int64(scattered[rows.indices[f]])
                dot += (value >> 1) * rows.quantised[f]
                overlap += value & 1
            if overlap > 0:
                out[i, j] = similarity(dot, overlap, last - first, end - start, beta)
        for f in range(first, last):
            scattered[rows.indices[f]] = 0


def similarities(rows: QuantisedRows, of: np.ndarray, ids: np.ndarray, beta: float) -> np.ndarray:
    """Similarity of each row ``of`` with the rows in its line of ``ids``; 0 where that is -1.

    Examples
    --------
    >>> rows = QuantisedRows(np.array([0, 1, 2]), np.array([0, 0]), np.array([2**23] * 2), 1)
    >>> similarities(rows, np.array([1]), np.array([[0, -1]]), 1.0).tolist()
    [[1.0, 0.0]]
    """
    of = frozen(np.ascontiguousarray(of, np.int64))
    ids = frozen(np.ascontiguousarray(ids, np.int32))
    rows = rows.prepared()  # a table keeps nothing alive
    _check(rows, of, 0)
    _check(rows, ids, -1)
    out = np.empty(ids.shape)
    scattered = np.zeros(rows.n_features, np.int32)
    _similarities(table(rows), of, ids, float(beta), scattered, out)
    return out


@kernel
def _mark_near(
    rows_table: Table[QuantisedRows],
    new_table: Table[QuantisedRows],
    lists: tuple[Int64, Int64, Int64],
    least: Float64,
    beta: Float,
    sums: tuple[Int64, Int64],
    near: Uint8,
) -> None:
    rows, new = _open_rows(rows_table), _open_rows(new_table)
    starts, owners, values = lists
    dots, overlaps = sums
    for row in range(near.size):
        dots[:] = 0
        overlaps[:] = 0
        for f in range(rows.indptr[row], rows.indptr[row + 1]):
            feature = rows.indices[f]
            for e in range(starts[feature], starts[feature + 1]):
                dots[owners[e]] += np.int64(rows.quantised[f]) * values[e]
                overlaps[owners[e]] += 1
        size = rows.indptr[row + 1] - rows.indptr[row]
        for n in range(dots.size):
            if dots[n] > 0:
                other = new.indptr[n + 1] - new.indptr[n]
                if similarity(dots[n], overlaps[n], size, other, beta) >= least[row]:
                    near[row] = 1
                    break


def mark_near(
    rows: QuantisedRows, new: QuantisedRows, least: np.ndarray, beta: float
) -> np.ndarray:
    """Mark the rows that have a similarity above 0, and of ``least`` or more, with a new row.

    Parameters
    ----------
    rows, new : QuantisedRows
        Over the same features.
    least : array of float64, (n_rows,)
    beta : float

    Examples
    --------
    >>> rows = QuantisedRows(np.array([0, 1, 2]), np.array([0, 0]), np.array([2**23] * 2), 1)
    >>> mark_near(rows, rows, np.array([0.5, 1.5]), 1.0).tolist()
    [True, False]
    """
    rows, new = rows.prepared(), new.prepared()  # a table keeps nothing alive
    order = np.argsort(new.indices, kind="stable")
    starts = np.searchsorted(new.indices[order], np.arange(rows.n_features + 1))
    owners = np.repeat(np.arange(new.n_rows), np.diff(new.indptr))[order]
    lists = tuple(
        frozen(np.ascontiguousarray(part, np.int64))
        for part in (starts, owners, new.quantised[order])
    )
    near, sums = np.zeros(rows.n_rows, np.uint8), np.empty((2, new.n_rows), np.int64)
    least = frozen(np.ascontiguousarray(least, np.float64))
    tables = table(rows), table(new)
    _mark_near(*tables, lists, least, float(beta), (sums[0], sums[1]), near)
    return near != 0


def _check(rows: QuantisedRows, ids: np.ndarray, least: int) -> None:
    if ids.size and not least <= ids.min() <= ids.max() < rows.n_rows:
        raise ValueError(f"rows must lie in {least}..{rows.n_rows - 1}")
