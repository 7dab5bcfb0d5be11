"""Turn a row of a request into ascending features with values, or refuse it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import lt
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET

from swnn_xp.serve.refusal import HTTPRefusal
from swnn_xp.serve.wire import Row
from swnn_xp.text import TextVectorizer

# Signs around a word; those of c++ and c# belong to it.
_EDGES = re.compile(r"^[^\w+#]+|[^\w+#]+$")


class ParsedRow(NamedTuple):
    """A row that a session takes."""

    indices: Any
    values: Any
    unknown: list[str] | None
    """Names that the model does not know; None if the row came by number."""


class KnownFeatures(NamedTuple):
    """Features that rows of requests may have."""

    n_features: int
    ids: Mapping[str, int] | None = None
    """By name, if the model has names."""
    vectorizer: TextVectorizer | None = None
    """Of a model that takes texts."""


def to_query(row: Row, number: int, known: KnownFeatures, most: int) -> ParsedRow:
    """Convert a row to what a session takes.

    Examples
    --------
    >>> row = Row(indices=[3, 1, 3], values=[1.0, 2.0, 0.5])
    >>> to_query(row, 0, KnownFeatures(4), 10).values.tolist()
    [2.0, 1.5]
    """
    unknown = None
    _check_kind(row, number)
    if row.text is not UNSET and known.vectorizer is not None:
        indices, values = known.vectorizer.row(row.text)
        _check_length(indices.size, number, most)
        return ParsedRow(indices, values, None)
    if row.text is not UNSET:
        words = _known_words(row.text, known.ids or {})
        ids, numbers, unknown = _by_name(words, number, known.ids, most)
    elif row.features is not UNSET:
        ids, numbers, unknown = _by_name(row.features, number, known.ids, most)
    else:
        ids, numbers = _by_number(row, number, most)
    indices, values = _ascending(ids, numbers)
    if indices.size and indices[-1] >= known.n_features:
        raise HTTPRefusal(
            422, f"row {number}: feature {indices[-1]} is outside 0..{known.n_features - 1}"
        )
    # JSON has no infinite numbers, so only sums can be infinite.
    if indices.size < len(ids) and not np.isfinite(values).all():
        raise HTTPRefusal(422, f"row {number}: a feature's values sum up to infinity")
    return ParsedRow(indices, values, unknown)


def _check_kind(row: Row, number: int) -> None:
    by_number = row.indices is not UNSET or row.values is not UNSET
    if (row.features is not UNSET) + (row.text is not UNSET) + by_number > 1:
        what = "features and indices or values" if row.text is UNSET else "a text and features"
        raise HTTPRefusal(422, f"row {number}: has both {what}")


def _known_words(text: str, known: Mapping[str, int]) -> list[str]:
    """Words of a text as the model's names spell them, if any spelling is one of them.

    Examples
    --------
    >>> _known_words("Chess, (C++) or GO!", {"chess": 0, "c++": 1, "GO": 2})
    ['chess', 'c++', 'or', 'GO']
    """
    found = []
    for word in text.split():
        bare = _EDGES.sub("", word)
        spellings = (word, bare, word.lower(), bare.lower())
        found.append(next((each for each in spellings if each in known), bare or word))
    return found


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


def _ascending(ids: list[int], numbers: list[float]) -> tuple[Any, Any]:
    """Sort features and sum repeats in their given order, as `canonical_rows` does.

    Most rows are sorted. Lists show it sooner than arrays: an answer leaves the processor's caches
    to the model, and every function of NumPy has to be fetched again.
    """
    indices = np.fromiter(ids, np.int64, len(ids))
    values = np.fromiter(numbers, np.float64, len(ids))
    if all(map(lt, ids, ids[1:])):
        return indices, values
    kept, at = np.unique(indices, return_inverse=True)
    with np.errstate(over="ignore"):
        return kept, np.bincount(at, weights=values)
