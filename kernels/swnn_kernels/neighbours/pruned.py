"""The pruned search: the paths that a query may take, all with the same answer."""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import inline
from swnn_kernels.neighbours.budget import search_within_budget
from swnn_kernels.neighbours.dense import search_dense
from swnn_kernels.neighbours.paths import threshold_after_sparse, tries_sparse
from swnn_kernels.neighbours.plan import clear_query, plan_query
from swnn_kernels.neighbours.sparse import search_sparse


@inline
def search_pruned(query):  # type: ignore[no-untyped-def]
    """Fill the heap with the best rows of a query; return their number."""
    prune, budget = query.prune, query.task.budget
    plan = plan_query(query)
    found, done, threshold = np.int64(0), query.n_neighbors == 0, np.float32(0.0)
    prune.n_unresolved[0] = 0
    if budget >= 0 and not done:
        found, prune.n_unresolved[0] = search_within_budget(query, plan, budget)
        done = found >= 0
    if not done and tries_sparse(query, plan):
        found, done = search_sparse(query, plan)
        threshold = threshold_after_sparse(query, found, done)
    if not done:
        found = search_dense(query, plan, threshold)
    clear_query(prune, plan.n_frequent)
    return found
