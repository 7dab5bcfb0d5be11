"""Which of the pruned kernel's exact paths a query takes."""

from __future__ import annotations

import numpy as np

from swnn_kernels.cache import inline
from swnn_kernels.completion import threshold
from swnn_kernels.sparse import remaining_mass, upper_of_untouched

# Costs in nanoseconds, measured: a rare posting with its row's bound on the sparse path; a row, and
# one of its bitmaps, on the dense path.
_POSTING = 9.0
_ROW = 1.2
_BITMAP = 0.016
_HOPELESS = 0.2  # similarity by frequent features alone that neighbours seldom exceed
_DEBT = 16  # queries for which a failure of the sparse path counts
_MOST_DEBT = 64


@inline
def wants_sparse(scratch, n_rows, plan, size, beta):  # type: ignore[no-untyped-def]
    """Whether the rare lists alone may well answer a query, at less than the dense cost.

    Where they failed again and again, they are tried only now and then. The answer does not
    depend on the path.
    """
    _, n_frequent, postings, mass = plan
    if n_frequent == 0:
        return True
    if upper_of_untouched(remaining_mass(mass), n_frequent, size, beta) > _HOPELESS:
        return False
    if _POSTING * postings > n_rows * (_ROW + _BITMAP * n_frequent):
        return False
    scratch.tally[3] = min(0, scratch.tally[3] + 1)
    return scratch.tally[3] > -_MOST_DEBT


@inline
def after_sparse(work, scratch, found, done):  # type: ignore[no-untyped-def]
    """Note a failure; the similarity that S rows are known to reach, or 0."""
    if done:
        return np.float32(0.0)
    scratch.tally[3] -= _DEBT
    return threshold(work, found, work.sims.size)
