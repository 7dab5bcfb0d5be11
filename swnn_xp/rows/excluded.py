"""Labels that rows must not get: a page is not its own "see also"."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from swnn_xp.rows.canonical import label_rows, to_csr
from swnn_xp.rows.input_kind import host_matrix
from swnn_xp.rows.records import Array, LabelRows, pointers_of_sizes


def excluded_labels(exclude: Any, n_rows: int, n_labels: int) -> LabelRows:
    """Bring what is to be left out to canonical rows.

    Parameters
    ----------
    exclude : sparse 0/1 matrix (n_rows, n_labels), or pairs of a row and a label (n_pairs, 2)
    n_rows, n_labels : int

    Examples
    --------
    >>> excluded_labels([(0, 4), (0, 2)], 2, 5)
    LabelRows(indptr=array([0, 2, 2]), indices=array([2, 4], dtype=int32), n_labels=5)
    """
    exclude = host_matrix(exclude)
    if not sp.issparse(exclude):
        exclude = _matrix_of(np.asarray(exclude), n_rows, n_labels)
    elif exclude.shape != (n_rows, n_labels):
        raise ValueError(
            f"exclude must have {n_rows} rows and {n_labels} labels, got {exclude.shape}"
        )
    rows = label_rows(exclude, "exclude")
    return LabelRows(rows.indptr, rows.indices.astype(np.int32, copy=False), n_labels)


def _matrix_of(pairs: NDArray[Any], n_rows: int, n_labels: int) -> sp.csr_array:
    if pairs.size == 0:
        pairs = np.zeros((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            "exclude must be a sparse 0/1 matrix, or pairs of a row and a label: got "
            f"{pairs.dtype} of shape {pairs.shape}"
        )
    for column, size, what in ((0, n_rows, "row"), (1, n_labels, "label")):
        wrong = (pairs[:, column] < 0) | (pairs[:, column] >= size)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"exclude: pair {at} has {what} {pairs[at, column]}, outside 0..{size - 1}"
            )
    keys = np.unique(pairs[:, 0].astype(np.int64) * n_labels + pairs[:, 1].astype(np.int64))
    indptr = np.searchsorted(keys, np.arange(n_rows + 1) * n_labels)
    return to_csr(indptr, keys % max(1, n_labels), np.ones(keys.size, np.int8), (n_rows, n_labels))


def is_excluded(excluded: LabelRows, labels: Array) -> Array:
    """Mark the labels of each row, (n_rows, k), that it must not get; -1 is none."""
    xp, dev = array_namespace(labels), device(labels)
    n_rows = labels.shape[0]
    sizes = np.diff(excluded.indptr)
    keys = np.repeat(np.arange(n_rows), sizes) * excluded.n_labels + excluded.indices
    if not keys.size:
        return labels != labels
    known = xp.asarray(keys, dtype=xp.int64, device=dev)
    rows = xp.arange(n_rows, dtype=xp.int64, device=dev)[:, None]
    wanted = xp.reshape(rows * excluded.n_labels + xp.astype(labels, xp.int64), (-1,))
    at = xp.searchsorted(known, wanted)
    at = xp.where(at < known.shape[0], at, xp.zeros_like(at))
    found = xp.reshape(xp.take(known, at) == wanted, labels.shape)
    return found & (labels >= 0) & (labels < excluded.n_labels)  # others are new labels


def leave_out(excluded: LabelRows, k: int, labels: Array, *values: Array) -> tuple[Array, ...]:
    """The first k labels that are not excluded, and their values; -1 and 0 where there is none.

    Examples
    --------
    >>> excluded = excluded_labels([(0, 7)], 1, 9)
    >>> labels, scores = np.asarray([[7, 3]]), np.asarray([[0.9, 0.5]])
    >>> [part.tolist() for part in leave_out(excluded, 2, labels, scores)]
    [[[3, -1]], [[0.5, 0.0]]]
    """
    xp = array_namespace(labels)
    out = is_excluded(excluded, labels)
    order = xp.argsort(xp.astype(out, xp.int8), axis=1, stable=True)[:, : min(k, out.shape[1])]
    out = xp.take_along_axis(out, order, axis=1)

    def kept(part: Array, empty: int) -> Array:
        part = xp.take_along_axis(part, order, axis=1)
        return xp.where(out, xp.full_like(part, empty), part)

    return kept(labels, -1), *(kept(part, 0) for part in values)


def without_labels(labels: LabelRows, excluded: LabelRows) -> LabelRows:
    """Rows of labels without those that are excluded.

    Examples
    --------
    >>> labels = LabelRows(np.asarray([0, 2]), np.asarray([3, 7], np.int32), 9)
    >>> without_labels(labels, excluded_labels([(0, 7)], 1, 9)).indices.tolist()
    [3]
    """
    of_row = np.repeat(np.arange(labels.n_rows), np.diff(labels.indptr)) * labels.n_labels
    others = np.repeat(np.arange(labels.n_rows), np.diff(excluded.indptr)) * labels.n_labels
    kept = ~np.isin(of_row + labels.indices, others + excluded.indices)
    before = pointers_of_sizes(kept.astype(np.int64))
    return LabelRows(before[labels.indptr], labels.indices[kept], labels.n_labels)
