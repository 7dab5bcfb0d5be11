"""Turn one JSON record into a row: the same bits from a file, a pipe and a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from operator import lt
from typing import Any, NamedTuple, Protocol

import numpy as np

from swnn_xp.text import TextVectorizer

FORMS_HELP = """\
{"id": "a", "features": {"word": 2.5, "other": 1}}   by name; {"3": 2.5} if they have no names
{"id": "a", "features": ["word", "other"]}           each with the value 1
{"id": "a", "indices": [3, 7], "values": [2.5, 1]}   by number; values may be left out
{"id": "a", "text": "Any text"}                      if the model was fitted on texts"""


class InputFeatures(Protocol):
    """What rows for a model consist of; every fitted estimator is one."""

    @property
    def n_features_in_(self) -> int:
        """Number of features."""

    @property
    def feature_names_(self) -> list[str] | None:
        """Their names, if they have any."""

    @property
    def feature_space_(self) -> str | None:
        """Digest of their names."""

    @property
    def vectorizer_(self) -> TextVectorizer | None:
        """What turns texts into rows, if the model takes texts."""


class NumberedFeatures(NamedTuple):
    """Features without names."""

    n_features_in_: int
    feature_names_: list[str] | None = None
    feature_space_: str | None = None
    vectorizer_: TextVectorizer | None = None


class ParsedRow(NamedTuple):
    """A row: ascending features with their values."""

    indices: Any
    values: Any
    unknown: list[str] | None
    """Names or words that the model does not know; None if the row was given by neither."""


NO_FEATURES = ParsedRow(np.empty(0, np.int64), np.empty(0), None)


class KnownFeatures(NamedTuple):
    """Features that records may have.

    Examples
    --------
    >>> known = KnownFeatures(2, {"dog": 0, "cat": 1})
    >>> row = known.row(features={"cat": 2, "cow": 1, "dog": 0.1})
    >>> row.indices.tolist(), row.values.tolist(), row.unknown
    ([0, 1], [0.1, 2.0], ['cow'])
    """

    n_features: int
    ids: Mapping[str, int] | None = None
    """By name, if the model has names."""
    vectorizer: TextVectorizer | None = None
    """Of a model that takes texts."""

    @classmethod
    def of(cls, clf: InputFeatures) -> KnownFeatures:
        """Features of a fitted estimator; the first of equal names is meant."""
        names, ids = clf.feature_names_, None
        if names is not None:
            ids = {names[i]: i for i in range(len(names) - 1, -1, -1)}
        return cls(clf.n_features_in_, ids, clf.vectorizer_)

    def row(
        self,
        features: Any = None,
        indices: Any = None,
        values: Any = None,
        text: Any = None,
        most: int | None = None,
    ) -> ParsedRow:
        """Convert the fields of a record, in one of the forms of `FORMS_HELP`.

        Features need not be sorted; the values of a repeated one are summed. Values are float64,
        as Python and NumPy read them. A ValueError says what is wrong, without saying where.

        Parameters
        ----------
        features, indices, values, text
            Fields as JSON has them, or None for those that are missing; see `text_of`.
        most : int, optional
            Features that a row may have.
        """
        by_number = indices is not None or values is not None
        if text is not None:
            if features is not None or by_number:
                raise ValueError("has both a text and features")
            return self._of_text(text, most)
        unknown = None
        if features is not None:
            if by_number:
                raise ValueError("has both features and indices or values")
            _check_length(features, most)
            ids, numbers, unknown = self._by_name(features)
        else:
            if not isinstance(indices, list):
                raise ValueError("has neither features nor a list of indices")
            _check_length(indices, most)
            ids, numbers = indices, [1.0] * len(indices) if values is None else values
            if not isinstance(numbers, list):
                raise ValueError(f"values must be a list, not {_show(numbers)}")
            if len(numbers) != len(ids):
                raise ValueError(f"has {len(ids)} indices and {len(numbers)} values")
            _check_numbers(ids, numbers)
        return ParsedRow(*self._ascending(ids, numbers), unknown)

    def _of_text(self, text: Any, most: int | None) -> ParsedRow:
        if not isinstance(text, str):
            raise ValueError(f"text must be a string, not {_show(text)}")
        if self.vectorizer is None:
            raise ValueError("has a text, but the model was not fitted on texts")
        (indices, values), unknown = self.vectorizer.row_and_unknown(text)
        _check_length(indices, most)
        return ParsedRow(indices, values, unknown)

    def _by_name(self, features: Any) -> tuple[list[int], list[Any], list[str] | None]:
        if isinstance(features, dict):
            names, numbers = list(features), list(features.values())
            _check_numbers(names, numbers)
        elif isinstance(features, list):
            names, numbers = features, [1.0] * len(features)
        else:
            raise ValueError(f"features must be an object or a list, not {_show(features)}")
        if self.ids is None:
            return [_number_of(name) for name in names], numbers, None
        if not set(map(type, names)) <= {str}:
            odd = next(name for name in names if type(name) is not str)
            raise ValueError(f"features must be names, not {_show(odd)}; give indices")
        found = [*map(self.ids.get, names)]
        if None not in found:
            return found, numbers, []  # type: ignore[return-value]
        return (
            [id_ for id_ in found if id_ is not None],
            [number for id_, number in zip(found, numbers, strict=True) if id_ is not None],
            [name for id_, name in zip(found, names, strict=True) if id_ is None],
        )

    def _ascending(self, ids: list[int], numbers: list[Any]) -> tuple[Any, Any]:
        """Sort features and sum repeats in their given order, as `canonical_rows` does.

        Most rows are sorted. Lists show it sooner than arrays: an answer leaves the processor's
        caches to the model, and every function of NumPy has to be fetched again.
        """
        if not set(map(type, ids)) <= {int}:
            odd = next(id_ for id_ in ids if type(id_) is not int)
            raise ValueError(f"feature {_show(odd)} is not a whole number")
        sorted_ = all(map(lt, ids, ids[1:]))
        for id_ in ids[:1] + ids[-1:] if sorted_ else (min(ids), max(ids)):
            if not 0 <= id_ < self.n_features:
                raise ValueError(f"feature {_show(id_)} is outside 0..{self.n_features - 1}")
        indices = np.fromiter(ids, np.int64, len(ids))
        values = np.fromiter(numbers, np.float64, len(ids))
        if sorted_:
            return indices, values
        kept, at = np.unique(indices, return_inverse=True)
        with np.errstate(over="ignore"):
            sums = np.bincount(at, weights=values)
        if not np.isfinite(sums).all():
            raise ValueError("a feature's values sum up to infinity")
        return kept, sums


def text_of(is_there: bool, text: Any, *others: Any) -> Any:
    """The text of a record for `KnownFeatures.row`: null is an empty one, as in training.

    Beside other fields null means that there is no text, as null means for them.

    Examples
    --------
    >>> text_of(True, None, None), text_of(True, None, ["cat"])
    ('', None)
    """
    is_empty = is_there and text is None and all(other is None for other in others)
    return "" if is_empty else text


def _number_of(name: Any) -> Any:
    """The number of a feature without a name: JSON's keys are strings."""
    if not isinstance(name, str):
        return name
    if name.isascii() and name.isdecimal():
        return int(name[:20])
    raise ValueError(f"feature {_show(name)} is not a number; the model has no feature names")


def _check_length(features: Any, most: int | None) -> None:
    if most is not None and len(features) > most:
        raise ValueError(f"has {len(features)} features, at most {most} are allowed")


def _check_numbers(names: Sequence[Any], numbers: list[Any]) -> None:
    try:
        if set(map(type, numbers)) <= {int, float} and isfinite(sum(numbers)):
            return
    except OverflowError:  # of a whole number, or of the sum alone
        pass
    for name, number in zip(names, numbers, strict=True):
        if not _is_finite(number):
            raise ValueError(f"feature {_show(name)}: {_show(number)} is not a finite number")


def _is_finite(number: Any) -> bool:
    try:
        return type(number) in (int, float) and isfinite(number)
    except OverflowError:
        return False


def _show(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:40] + "..."
