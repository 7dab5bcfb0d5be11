"""Evidence beside the vote: labels that other sources list for a query, and bins of their tables.

A source (such as the labels' centroids) lists labels for each query. They become candidates beside
those with most votes, and their bins look up further tables of the vote score, as shares do. A
label that a source does not list has bin 0 of its tables, and these entries are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from swnn_kernels.records import Int32, Int64, Uint16


class SourceShape(NamedTuple):
    """What a source may list for a query."""

    n_labels: int
    """Its labels are below this number."""
    n_listed: int
    """How many it lists at most."""
    tables: tuple[int, ...]
    """For each of its tables the number of its categories; 0 if bins are those of a number between
    0 and 1, such as a cosine."""


class Evidence(NamedTuple):
    """What a source lists for some queries."""

    labels: Any
    """int32 (n_queries, n_listed): no label twice; -1 where there is none."""
    bins: Any
    """uint16 (n_queries, n_listed, n_tables)."""


class Listed(NamedTuple):
    """What all sources list, as kernels take it: a query's sources side by side."""

    n_listed: Int64  # (n_sources,): labels of a query
    n_tables: Int64  # (n_sources,)
    labels: Int32  # (n_queries * sum of n_listed,)
    bins: Uint16  # (n_queries * sum of n_listed * n_tables,)


def join_evidence(
    evidence: Sequence[Evidence], shapes: Sequence[SourceShape], n_queries: int
) -> Listed:
    """Put what the sources list side by side; ValueError unless it has their shapes.

    Examples
    --------
    >>> of_one = Evidence(np.zeros((1, 2), np.int32), np.zeros((1, 2, 1), np.uint16))
    >>> join_evidence([of_one], [SourceShape(5, 2, (0,))], 1).labels.tolist()
    [0, 0]
    """
    given = [(one.labels.shape, one.bins.shape) for one in evidence]
    sizes = [((n_queries, s.n_listed), (n_queries, s.n_listed, len(s.tables))) for s in shapes]
    if given != sizes:
        raise ValueError(f"evidence has shapes {given}, not {sizes}")
    for one, shape in zip(evidence, shapes, strict=True):
        if one.labels.size and not -1 <= one.labels.min() <= one.labels.max() < shape.n_labels:
            raise ValueError(f"evidence lists labels outside of 0..{shape.n_labels - 1}")
    bins = [np.asarray(one.bins, np.uint16).reshape(n_queries, -1) for one in evidence]
    labels = [np.asarray(one.labels, np.int32) for one in evidence]
    return Listed(*_sizes(shapes), _side_by_side(labels, np.int32), _side_by_side(bins, np.uint16))


def listed_buffers(shapes: Sequence[SourceShape]) -> tuple[Listed, list[Evidence]]:
    """Buffers for one query, and for each source the part that it fills."""
    n_listed, n_tables = _sizes(shapes)
    labels = np.full(n_listed.sum(), -1, np.int32)
    bins = np.zeros((n_listed * n_tables).sum(), np.uint16)
    listed, at, parts = Listed(n_listed, n_tables, labels, bins), [0, 0], []
    for size, width in zip(n_listed.tolist(), n_tables.tolist(), strict=True):
        own = bins[at[1] : at[1] + size * width].reshape(size, width)
        parts.append(Evidence(labels[at[0] : at[0] + size], own))
        at = [at[0] + size, at[1] + size * width]
    return listed, parts


def _sizes(shapes: Sequence[SourceShape]) -> tuple[np.ndarray, np.ndarray]:
    n_listed = np.asarray([shape.n_listed for shape in shapes], np.int64)
    return n_listed, np.asarray([len(shape.tables) for shape in shapes], np.int64)


def _side_by_side(parts: list[np.ndarray], dtype: Any) -> np.ndarray:
    if len(parts) == 1:
        return np.ascontiguousarray(parts[0]).reshape(-1)
    return np.concatenate(
        [*parts, np.zeros((len(parts[0]) if parts else 0, 0), dtype)], axis=1
    ).reshape(-1)
