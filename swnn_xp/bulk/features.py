"""Rows of JSON records: features by name or by number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from swnn_xp.io.errors import FormatError, PathLike
from swnn_xp.io.grammar import FLOAT32_LIMIT
from swnn_xp.io.json_lines import JsonRecord

FORMS_HELP = """\
{"id": "a", "features": {"word": 2.5, "other": 1}}   by name; {"3": 2.5} if they have no names
{"id": "a", "features": ["word", "other"]}           each with the value 1
{"id": "a", "indices": [3, 7], "values": [2.5, 1]}   by number; values may be left out
{"id": "a", "text": "Any text"}                      if the model was fitted on texts"""


class NamedFeatures:
    """Turns records into rows, as the service does.

    Features are given in one of the forms of `FORMS_HELP`. Names that the model does not know are
    left out and counted; repeated features are summed.

    Parameters
    ----------
    names : sequence of str, optional
        The model's feature names. Without them, the keys of ``features`` are numbers.
    n_features : int

    Examples
    --------
    >>> rows = NamedFeatures(["dog", "cat"], 2)
    >>> record = JsonRecord(1, {"features": {"cat": 2, "cow": 1}})
    >>> rows("new.jsonl", [record]).toarray().tolist(), rows.unknown
    ([[0.0, 2.0]], 1)
    """

    def __init__(self, names: Sequence[str] | None, n_features: int) -> None:
        self._known = None if names is None else {name: i for i, name in enumerate(names)}
        self._n_features = n_features
        self.seen = self.unknown = 0

    def __call__(self, path: PathLike, records: Sequence[JsonRecord]) -> csr_array:
        """Rows of some records; errors name the path and the line."""
        sizes, columns, values = [0], list[int](), list[float]()
        for record in records:
            try:
                for column, value in self._pairs(record.fields):
                    columns.append(column)
                    values.append(value)
            except ValueError as error:
                raise FormatError(path, record.line, str(error)) from None
            sizes.append(len(columns))
        shape = len(records), self._n_features
        # float32, as the text format is read: the same row gets the same answer.
        data = np.asarray(values, np.float64).astype(np.float32)
        X = csr_array((data, np.asarray(columns, np.int64), np.asarray(sizes, np.int64)), shape)
        X.sum_duplicates()
        return X

    def _pairs(self, fields: dict[str, Any]) -> Iterable[tuple[int, float]]:
        given = fields.get("features")
        if given is None:
            yield from self._by_number(fields)
            return
        if "indices" in fields or "values" in fields:
            raise ValueError("has both features and indices or values")
        if isinstance(given, list):
            pairs = [(name, 1.0) for name in given]
        elif isinstance(given, dict):
            pairs = list(given.items())
        else:
            raise ValueError(f"features must be an object or a list, not {_show(given)}")
        self.seen += len(pairs)
        for name, value in pairs:
            column = self._column(name)
            if column is None:
                self.unknown += 1
            else:
                yield column, _number(name, value)

    def _column(self, name: Any) -> int | None:
        if self._known is not None:
            if not isinstance(name, str):
                raise ValueError(f"features must be names, not {_show(name)}; give indices")
            return self._known.get(name)
        if isinstance(name, str) and name.isascii() and name.isdecimal():
            name = int(name[:20])
        if isinstance(name, str):
            raise ValueError(f"feature {_show(name)} is not a number; the model has no names")
        return self._index(name)

    def _by_number(self, fields: dict[str, Any]) -> Iterable[tuple[int, float]]:
        indices = fields.get("indices")
        if not isinstance(indices, list):
            if "text" in fields:
                raise ValueError("has a text, but the model was not fitted on texts")
            raise ValueError("has neither features nor a list of indices")
        values = fields.get("values", [1.0] * len(indices))
        if not isinstance(values, list) or len(values) != len(indices):
            raise ValueError(f"must have as many values as indices, {len(indices)}")
        for index, value in zip(indices, values, strict=True):
            yield self._index(index), _number(index, value)

    def _index(self, index: Any) -> int:
        if not isinstance(index, int) or isinstance(index, bool):
            raise ValueError(f"feature {_show(index)} is not a whole number")
        if not 0 <= index < self._n_features:
            raise ValueError(f"feature {index} is outside 0..{self._n_features - 1}")
        return index


def _number(feature: Any, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if abs(number) < FLOAT32_LIMIT:
            return number
    raise ValueError(f"feature {feature!r}: {_show(value)} is not a number in the range of float32")


def _show(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:40] + "..."
