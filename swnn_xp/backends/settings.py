"""What a query is given: the method's parameters, and how much of the machine it may use."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """The parameters of the method: they decide the answer."""

    n_neighbors: int
    alpha: float
    beta: float


class Options(NamedTuple):
    """Limits that a query keeps; no answer depends on them.

    They are passed when a query runs and never stored in an index, so that a change of
    ``memory_budget`` or ``n_jobs`` counts from the next query on.
    """

    memory_budget: int = 10**9
    """Bytes that temporaries may take."""
    n_jobs: int = 1
    """Threads, where the backend has threads: a plain number, -1 is resolved before."""


DEFAULT_OPTIONS = Options()
