"""The topics of a twin's rows and columns, on a circle."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._matching import GOLDEN, ColumnTopics, RowTopics

_FAMILIES = np.array([1, 1, 2, 1, 1, 3, 1, 2, 1, 1, 1, 6])  # sizes of groups of near-duplicates
_BURST = 4  # entries that a column offers at one topic: enough for most families
_SPAN = (
    10  # rows around a row of mean length that it asks within; well above _BURST, see row_topics
)
_PLASTIC = (0.7548776662466927, 0.5698402909980532)  # for pairs of evenly spread sequences


class Layout(NamedTuple):
    """Rows in their order on the circle."""

    family: Any
    n_features: Any
    n_labels: Any


def lay_out(n_features: Any, n_labels: Any, shift: float) -> Layout:
    """Put rows of given (ascending) sizes onto the circle.

    Near-duplicates lie together and have about the same size. Multiples of irrational numbers
    spread families so that each stretch of the circle has rows of all sizes in equal shares.
    """
    n = len(n_features)
    family = np.repeat(np.arange(n), np.resize(_FAMILIES, n))[:n]
    order = np.argsort((family * GOLDEN + shift) % 1, kind="stable")
    labels = np.empty(n, dtype=np.int64)
    labels[np.argsort((family * np.sqrt(3)) % 1, kind="stable")] = n_labels
    return Layout(family[order], n_features[order], labels[order])


def row_topics(family: Any, lengths: Any) -> RowTopics:
    """Topics around which rows ask, over a wider range the longer they are.

    Then a row's entries lie about _SPAN entries of others apart, so that it seldom meets one burst
    of a column twice; and bursts of a column are at least as far apart.
    """
    n = len(lengths)
    first = np.flatnonzero(np.diff(family, prepend=-1))
    size = np.diff(first, append=n)
    own = family[first]
    topic = (first + size / 2) / n
    second = (topic + own * np.sqrt(2)) % 1
    relative = np.maximum(1, lengths[first] / max(lengths.mean(), 1))
    reach = np.minimum(0.5, _SPAN / n * relative)
    phase = (own * _PLASTIC[1]) % 1
    return RowTopics(*(np.repeat(of_family, size) for of_family in (topic, second, reach, phase)))


def column_topics(counts: Any, n_rows: int, stray: int, shift: float) -> ColumnTopics:
    """Topics of columns; each `stray`-th one and the very common ones occur everywhere."""
    k = np.arange(len(counts))
    density = 0.15 + 0.3 * ((k * _PLASTIC[0]) % 1)  # share of the rows around that have the column
    width = np.where(k % stray == stray - 1, 1, np.minimum(1, counts / (density * n_rows)))
    return ColumnTopics((k * GOLDEN + shift) % 1, width, _BURST)
