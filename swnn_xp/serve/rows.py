"""Turn a row of a request into ascending features with values, or refuse it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET

from swnn_xp.serve.refusal import HTTPRefusal
from swnn_xp.serve.wire import Row


class ParsedRow(NamedTuple):
    """A row that a session takes."""

    indices: Any
    values: Any
    unknown: list[str] | None
    """Names that the model does not know; None if the row came by number."""


def to_query(
    row: Row, number: int, n_features: int, known: Mapping[str, int] | None, most: int
) -> ParsedRow:
    """Convert a row to what a session takes.

    Examples
    --------
    >>> to_query(Row(indices=[3, 1, 3], values=[1.0, 2.0, 0.5]), 0, 4, None, 10).values.tolist()
    [2.0, 1.5]
    """
    unknown = None
    if row.features is not UNSET:
        if row.indices is not UNSET or row.values is not UNSET:
            raise HTTPRefusal(422, f"row {number}: has both features and indices or values")
        ids, numbers, unknown = _by_name(row.features, number, known, most)
    else:
        ids, numbers = _by_number(row, number, most)
    indices, values = np.array(ids, np.int64), np.array(numbers, np.float64)
    if indices.size > 1 and not (indices[1:] > indices[:-1]).all():
        indices, values = _summed(indices, values)
    if indices.size and indices[-1] >= n_features:
        raise HTTPRefusal(
            422, f"row {number}: feature {indices[-1]} is outside 0..{n_features - 1}"
        )
    if not np.isfinite(values).all():
        raise HTTPRefusal(422, f"row {number}: a feature's values sum up to infinity")
    return ParsedRow(indices, values, unknown)


def _by_number(row: Row, number: int, most: int) -> tuple[Any, Any]:
    if row.indices is UNSET:
        raise HTTPRefusal(422, f"row {number}: has neither features nor indices")
    _check_length(len(row.indices), number, most)
    if row.values is UNSET:
        return row.indices, [1.0] * len(row.indices)
    if len(row.values) != len(row.indices):
        found = f"{len(row.indices)} indices and {len(row.values)} values"
        raise HTTPRefusal(422, f"row {number}: has {found}")
    return row.indices, row.values


def _by_name(
    features: list[str] | dict[str, float], number: int, known: Mapping[str, int] | None, most: int
) -> tuple[list[int], list[float], list[str]]:
    if known is None:
        raise HTTPRefusal(422, f"row {number}: the model has no feature names; give indices")
    _check_length(len(features), number, most)
    values = features.values() if isinstance(features, dict) else [1.0] * len(features)
    found = [(known.get(name), name, value) for name, value in zip(features, values, strict=True)]
    return (
        [id_ for id_, _, _ in found if id_ is not None],
        [value for id_, _, value in found if id_ is not None],
        [name for id_, name, _ in found if id_ is None],
    )


def _check_length(length: int, number: int, most: int) -> None:
    if length > most:
        raise HTTPRefusal(422, f"row {number}: has {length} features, at most {most} are allowed")


def _summed(indices: Any, values: Any) -> tuple[Any, Any]:
    """Sort features and sum repeats in their given order, as `canonical_rows` does."""
    kept, at = np.unique(indices, return_inverse=True)
    with np.errstate(over="ignore"):
        return kept, np.bincount(at, weights=values)
