"""The pruned search: which exact path a query takes. All paths have the same answer."""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import inline
from swnn_kernels.neighbours.dense import search_dense
from swnn_kernels.neighbours.plan import clear_query, plan_query
from swnn_kernels.neighbours.records import Plan, Query
from swnn_kernels.neighbours.rescoring import threshold_of
from swnn_kernels.neighbours.sparse import bound_of_untouched, remaining_norm, search_sparse
from swnn_kernels.records import Bool, Float, Int

# Costs in nanoseconds, measured: a posting with its row's bound on the sparse path; a row, and one
# of its bitmaps, on the dense path.
_POSTING = 9.0
_ROW = 1.2
_BITMAP = 0.016
_MAX_BY_FREQUENT = 0.2  # similarity by frequent features alone from which the lists seldom suffice
_FAILURE_COST = 16  # queries until a failure of the sparse path is forgotten
_MIN_CREDIT = -64  # at or below, the sparse path is not tried


@inline
def tries_sparse(query: Query, plan: Plan) -> Bool:
    """Whether the postings lists alone may well answer a query, at less than the dense cost.

    Where they failed again and again, they are tried only now and then. The answer does not
    depend on the path.
    """
    if plan.n_frequent == 0:
        return True
    upper = bound_of_untouched(query, plan, remaining_norm(plan.squared_norm))
    if upper > _MAX_BY_FREQUENT:
        return False
    n_rows = query.index.forward_indptr.size - 1
    if _POSTING * plan.n_postings > n_rows * (_ROW + _BITMAP * plan.n_frequent):
        return False
    credit = query.prune.sparse_credit
    credit[0] = min(0, credit[0] + 1)
    return credit[0] > _MIN_CREDIT


@inline
def threshold_after_sparse(query: Query, found: Int, done: Bool) -> Float:
    """Record a failure; return the threshold that the rows found set for the dense path, or 0."""
    if done:
        return np.float32(0.0)
    query.prune.sparse_credit[0] -= _FAILURE_COST
    return threshold_of(query, found)


@inline
def search_pruned(query: Query) -> Int:
    """Fill the heap with the best rows of a query; return their number."""
    prune, plan = query.prune, plan_query(query)
    found, done, threshold = np.int64(0), query.n_neighbors == 0, np.float32(0.0)
    if not done and tries_sparse(query, plan):
        found, done = search_sparse(query, plan)
        threshold = threshold_after_sparse(query, found, done)
    if not done:
        found = search_dense(query, plan, threshold)
    clear_query(prune, plan.n_frequent)
    return found
