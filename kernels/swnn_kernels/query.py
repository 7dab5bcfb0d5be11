"""One query from start to end: units, neighbours, votes. No Python in between."""

from __future__ import annotations

import numpy as np

from swnn_kernels.budget import budget_search
from swnn_kernels.cache import inline, kernel
from swnn_kernels.dense import dense_search
from swnn_kernels.fixed_point import unit_row
from swnn_kernels.heap import sort_best_first
from swnn_kernels.paths import after_sparse, wants_sparse
from swnn_kernels.prepare import forget_query, split_query
from swnn_kernels.records import Labels, Lists, Scratch, Split, Work
from swnn_kernels.reference import reference_search
from swnn_kernels.references import opener
from swnn_kernels.sparse import sparse_search
from swnn_kernels.vote import vote

BAD_IDS = -1
BAD_VALUES = -2

_open_lists, _open_labels, _open_work = opener(Lists), opener(Labels), opener(Work)
_open_split, _open_scratch = opener(Split), opener(Scratch)


@inline
def load_raw(work, indices, values, n_features):  # type: ignore[no-untyped-def]
    """Check a raw query and put its units into ``work``; its size, or a negative fault."""
    size = 0
    previous = np.int64(-1)
    for p in range(indices.size):
        feature = np.int64(indices[p])
        if feature <= previous or feature >= n_features:
            return BAD_IDS
        previous = feature
        if values[p] != 0.0:
            work.indices[size] = feature
            work.values[size] = values[p]
            size += 1
    if not unit_row(work.values, 0, size, work.units, 0):
        return BAD_VALUES
    return size


@inline
def load_units(work, indices, units, start, stop):  # type: ignore[no-untyped-def]
    """Put a canonical query into ``work``; its size."""
    for p in range(start, stop):
        work.indices[p - start] = indices[p]
        work.units[p - start] = units[p]
    return stop - start


@inline
def write_neighbours(work, found, ids, sims):  # type: ignore[no-untyped-def]
    """Copy the sorted neighbours into a row of results; missing places hold -1 and 0."""
    for i in range(ids.size):
        ids[i] = work.rows[i] if i < found else -1
        sims[i] = work.sims[i] if i < found else 0.0


@inline
def write_labels(work, held, labels, scores):  # type: ignore[no-untyped-def]
    """Copy the best labels into a row of results; missing places hold -1 and 0."""
    for i in range(labels.size):
        labels[i] = work.best_labels[i] if i < held else -1
        scores[i] = work.best_sums[i] * 2.0**-40 if i < held else 0.0


@inline
def finish(work, labels, found, alpha, wants_labels, out_ids, out_values):  # type: ignore[no-untyped-def]
    """Sort the neighbours and write them, or the labels they vote for."""
    sort_best_first(work.sims, work.rows, found)
    if wants_labels:
        held = vote(labels, work.rows, work.sims, found, alpha, work, work.best_sums.size)
        write_labels(work, held, out_ids, out_values)
    else:
        write_neighbours(work, found, out_ids, out_values)


@kernel
def load_query(work, indices, values, n_features, indptr):  # type: ignore[no-untyped-def]
    """Put one raw query into ``work``; ``indptr`` becomes its pointers. 0 or a negative fault.

    Records come as tables to every kernel here, see `references.table`.
    """
    size = load_raw(_open_work(work), indices, values, n_features)
    indptr[0] = 0
    indptr[1] = max(0, size)
    return min(0, size)


@kernel
def answer_by_reference(  # type: ignore[no-untyped-def]
    lists_table, row_sizes, n_rows, labels_table, dead, work_table, indptr, indices, units, first,
    last, alpha, beta, wants_labels, ids, out,
):  # fmt: skip
    """Answer the canonical queries first..last."""
    lists = _open_lists(lists_table)
    labels, work = _open_labels(labels_table), _open_work(work_table)
    for q in range(first, last):
        size = load_units(work, indices, units, indptr[q], indptr[q + 1])
        found = reference_search(lists, row_sizes, n_rows, work, size, work.sims.size, beta, dead)
        finish(work, labels, found, alpha, wants_labels, ids[q], out[q])


@kernel
def answer_by_pruned(  # type: ignore[no-untyped-def]
    split_table, labels_table, dead, work_table, scratch_table, indptr, indices, units, first, last,
    alpha, beta, wants_labels, budget, might, ids, out,
):  # fmt: skip
    """Answer the canonical queries first..last; rows that a budget leaves open go to ``might``."""
    split, scratch = _open_split(split_table), _open_scratch(scratch_table)
    labels, work = _open_labels(labels_table), _open_work(work_table)
    n_neighbors = work.sims.size
    for q in range(first, last):
        size = load_units(work, indices, units, indptr[q], indptr[q + 1])
        plan = split_query(split, work, scratch, size)
        found, done, floor = np.int64(0), n_neighbors == 0, np.float32(0.0)
        might[q] = 0
        if budget >= 0 and not done:
            found, might[q] = budget_search(
                split, work, scratch, plan, size, n_neighbors, beta, dead, budget
            )
            done = found >= 0
        if not done and wants_sparse(scratch, split.ends.size - 1, plan, size, beta):
            found, done = sparse_search(split, work, scratch, plan, size, n_neighbors, beta, dead)
            floor = after_sparse(work, scratch, found, done)
        if not done:
            found = dense_search(split, work, scratch, plan, size, n_neighbors, beta, dead, floor)
        forget_query(scratch, plan[1])
        finish(work, labels, found, alpha, wants_labels, ids[q], out[q])
