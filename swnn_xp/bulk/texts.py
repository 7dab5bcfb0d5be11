"""Rows of JSON records for a model that was fitted on texts: their texts, or features as ever."""

from __future__ import annotations

from collections.abc import Sequence

import scipy.sparse as sp

from swnn_xp.bulk.features import NamedFeatures
from swnn_xp.io.errors import FormatError, PathLike
from swnn_xp.io.json_lines import JsonRecord
from swnn_xp.text import TextVectorizer


class TextRows:
    """Turns records with a ``text`` into rows; others go to `features`.

    Parameters
    ----------
    vectorizer : TextVectorizer
    features : NamedFeatures

    Examples
    --------
    >>> rows = TextRows(TextVectorizer(["dog", "cat"]), NamedFeatures(["dog", "cat"], 2))
    >>> rows("new.jsonl", [JsonRecord(1, {"text": "A cat!"})]).toarray().tolist()
    [[0.0, 1.0]]
    """

    def __init__(self, vectorizer: TextVectorizer, features: NamedFeatures) -> None:
        self._vectorizer, self._features = vectorizer, features

    def __call__(self, path: PathLike, records: Sequence[JsonRecord]) -> sp.csr_array:
        """Rows of some records; errors name the path and the line."""
        have_text = ["text" in record.fields for record in records]
        if all(have_text):
            return self._vectorizer.transform(_text(path, record) for record in records)
        if not any(have_text):
            return self._features(path, records)
        return sp.vstack([self(path, [record]) for record in records], format="csr")


def _text(path: PathLike, record: JsonRecord) -> str:
    text = record.fields["text"]
    if text is None:  # an empty text, as in training
        text = ""
    if not isinstance(text, str):
        raise FormatError(path, record.line, f"text must be a string, not {text!r:.40}")
    if "features" in record.fields or "indices" in record.fields:
        raise FormatError(path, record.line, "has both a text and features")
    return text
