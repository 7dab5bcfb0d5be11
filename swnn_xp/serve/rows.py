"""Turn a row of a request into what a session takes, or refuse it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from swnn_xp.bulk.records import KnownFeatures, ParsedRow
from swnn_xp.serve.refusal import HTTPRefusal
from swnn_xp.serve.wire import Row

# Signs around a word; those of c++ and c# belong to it.
_EDGES = re.compile(r"^[^\w+#]+|[^\w+#]+$")


def to_query(row: Row, number: int, known: KnownFeatures, most: int) -> ParsedRow:
    """Convert a row as `swnn predict` does, but take the words of a text where there are names.

    Examples
    --------
    >>> row = Row(indices=[3, 1, 3], values=[1.0, 2.0, 0.5])
    >>> to_query(row, 0, KnownFeatures(4), 10).values.tolist()
    [2.0, 1.5]
    """
    features: Any = None if row.features is UNSET else row.features
    indices = None if row.indices is UNSET else row.indices
    values = None if row.values is UNSET else row.values
    text = None if row.text is UNSET else row.text
    by_words = known.vectorizer is None and known.ids is not None
    if text is not None and by_words and features is indices is values is None:
        features, text = _known_words(text, known.ids or {}), None
    try:
        return known.row(features, indices, values, text, most)
    except ValueError as error:
        raise HTTPRefusal(422, f"row {number}: {error}") from None


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
