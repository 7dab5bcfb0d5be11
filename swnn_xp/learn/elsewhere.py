"""Training with the help of other machines: who searches and who trains labels, if not we.

`helped_by` holds for all training inside a ``with`` block. What is learned does not depend on it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.descent import Pairs, Problem, Rows
from swnn_xp.learn.host_search import Search
from swnn_xp.rows.records import QuantisedRows


class LabelTask(NamedTuple):
    """A run of labels to train, with all that it takes except the rows."""

    first: int
    """The first label."""
    n_labels: int
    """Number of all labels."""
    n_features: int
    pairs: Pairs
    """Of these labels only."""
    problem: Problem
    """With the costs of these labels only."""


class Own(NamedTuple):
    """What belongs to the labels of a run, one after the other."""

    features: NDArray[np.int32]
    weights: NDArray[np.float32]
    scores: NDArray[np.float32]  # of the candidates of rows left out


def joined(runs: list[Own]) -> Own:
    """One run after the other."""
    return Own(*(np.concatenate(part) for part in zip(*runs, strict=True)))


class TrainedTask(NamedTuple):
    """Models of a run of labels."""

    own: Own
    squares: NDArray[np.int64]  # (n_features,)
    sizes: NDArray[np.int64]  # (labels of the run,)
    biases: NDArray[np.float64]  # (labels of the run,)


@dataclass(frozen=True)
class Helpers:
    """What others do."""

    index: Callable[[QuantisedRows], Search]
    """Indexes rows and returns their search."""
    train: Callable[[Rows, Iterable[LabelTask]], Iterator[TrainedTask]]
    """Trains runs of labels, in their order."""


_helpers: ContextVar[Helpers | None] = ContextVar("helpers", default=None)


def helpers() -> Helpers | None:
    """Who helps here; None if nobody does."""
    return _helpers.get()


@contextlib.contextmanager
def helped_by(some: Helpers) -> Iterator[None]:
    """Let others search and train for the duration of a ``with`` block, in this thread."""
    token = _helpers.set(some)
    try:
        yield
    finally:
        _helpers.reset(token)
