"""Dense rows as the kernels take them, and the oracle's answers as the kernels give them."""

from __future__ import annotations

import numpy as np
import oracle

from swnn_kernels import Labels, QuantisedRows, quantise


def sparse(rows):
    """Arrays indptr, indices, values of dense rows."""
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([np.count_nonzero(row) for row in rows], out=indptr[1:])
    at = np.nonzero(rows)
    return indptr, at[1].astype(np.int32), rows[at]


def canonical(rows):
    """Quantised rows."""
    indptr, indices, values = sparse(rows)
    return QuantisedRows(indptr, indices, quantise(indptr, indices, values), rows.shape[1])


def first_rows(rows, count):
    """The first rows as queries."""
    end = rows.indptr[count]
    return QuantisedRows(
        rows.indptr[: count + 1], rows.indices[:end], rows.quantised[:end], rows.n_features
    )


def labels_of(sets):
    """Labels from a list of sets, one for each row."""
    indptr = np.cumsum([0] + [len(labels) for labels in sets])
    return Labels.prepare(
        indptr, np.array([label for labels in sets for label in labels], np.int32)
    )


def neighbours(rows, query, n_neighbors, beta, removed=None):
    """Ids and sims of the best rows, missing ones -1 and 0."""
    if removed is not None:
        rows = np.where(removed[:, None], 0.0, rows)
    found = [(i, sim) for sim, i in oracle.neighbours(rows, query, n_neighbors, beta)]
    return padded(found, n_neighbors)


def ranking(rows, sets, query, n_neighbors, alpha, beta, k):
    """Labels and scores of the best labels, missing ones -1 and 0."""
    flags = np.zeros((len(rows), 1 + max((max(s, default=0) for s in sets), default=0)), bool)
    for row, labels in enumerate(sets):
        flags[row, list(labels)] = True
    return padded(oracle.topk(rows, flags, query, n_neighbors, alpha, beta, k), k)


def padded(found, size):
    ids, values = zip(*(found + [(-1, 0.0)] * size)[:size], strict=True)
    return list(ids), list(values)
