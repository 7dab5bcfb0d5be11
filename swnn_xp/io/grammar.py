"""The rules of the format, and the plain parser and reader that define them.

Every reader must agree with the functions here on every input: the same rows, or a refusal at the
same line. The text is bytes; nothing depends on the locale or on Unicode.

============================  ================================  ==============================
in the file                   tolerant (the default)            strict
============================  ================================  ==============================
line end                      LF, or CR LF; the last line may   LF, the last line too
                              have none (a final CR counts as
                              part of the line end)
a CR anywhere else            refused                           refused
header ``n d L``              three counts up to 2147483647,    one space between, none around
                              blanks between and around
no header                     see ``read_xmc(header=...)``      refused
UTF-8 BOM at the start        skipped                           refused
blanks between tokens         one or more spaces and tabs       one space
blanks at the end of a line   ignored                           refused, but for the one space
                                                                after labels (or after no
                                                                labels) without features
row without labels            begins with a blank, or with a    begins with a space, or is empty
                              ``feature:value`` pair
empty line, blank line        a row without labels and          the same, if empty or one space
                              features
lines after the n-th row      ignored if blank                  refused
fewer than n rows             refused                           refused
labels                        ids joined by single commas, no   the same
                              blanks; any order
a label twice in a row        counts once                       refused
label after a leading blank   refused                           refused
features                      ``id:value``, any order           ids ascending
a feature twice in a row      values are summed as float64 in   refused
                              the order they stand
id                            decimal digits, leading zeros     the same
                              allowed, no sign, below d or L
value                         ``[+-]? (D+ [. D*] | . D+)        the same, without the ``+`` in
                              ([eE] [+-]? D+)?``, D a digit     front
                              0-9; correctly rounded to
                              float64, summed, then rounded
                              to the wanted type
nan, inf, a sum that the      refused                           refused
wanted type can't hold
a value of 0                  stored as it stands               the same
anything else (``1_000``,     refused                           refused
``1,,2``, ``1,``, ``1, 2``,
``3:``, NUL, other bytes)
============================  ================================  ==============================

In svmlight files (always tolerant) ``#`` starts a comment that ends with the line; a line that
holds nothing but blanks before its comment is not a row.
"""

from __future__ import annotations

import re
from io import BufferedIOBase
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from swnn_kernels.records import ParsedRows
from swnn_xp.io.files import FormatError, PathLike, Position

MAX_ID = 2**31 - 2
"""Ids, and the counts above them, fit int32."""

FLOAT32_LIMIT = float(2**128 - 2**103)
"""The smallest magnitude that rounds to infinity in float32."""

_HEADER_STRICT = re.compile(rb"[0-9]+ [0-9]+ [0-9]+")
_DIGITS = re.compile(rb"[0-9]+")
_VALUE = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BLANKS = re.compile(rb"[ \t]+")


class Rules(NamedTuple):
    """What the rows of one file must satisfy."""

    n_features: int = MAX_ID + 1
    n_labels: int = MAX_ID + 1
    strict: bool = False
    comments: bool = False
    first_feature: int = 0
    limit: float = FLOAT32_LIMIT


class Row(NamedTuple):
    """One row: ids ascending and without repeats."""

    labels: list[int]
    features: list[int]
    values: list[float]


class LineError(ValueError):
    """What is wrong with a line; the reader adds the file and the line number."""


def parse_header(line: bytes, *, strict: bool) -> tuple[int, int, int]:
    r"""Read ``n d L``.

    Examples
    --------
    >>> parse_header(b"3 20 5\n", strict=True)
    (3, 20, 5)
    """
    text = _without_line_end(line, strict=strict)
    words = [word for word in _BLANKS.split(text) if word]
    if len(words) != 3 or not all(_DIGITS.fullmatch(word) for word in words):
        raise LineError(f"{_show(text)} is not a header: rows, features, labels")
    if strict and not _HEADER_STRICT.fullmatch(text):
        raise LineError(f"{_show(text)}: strict wants one space between the header's counts")
    n, d, labels = (_whole(word, MAX_ID + 2, "count") for word in words)
    return n, d, labels


def parse_row(line: bytes, rules: Rules) -> Row | None:
    """Read one line as a row, or as None where it is only a comment.

    Examples
    --------
    >>> parse_row(b"7,2 4:1 3:0.5 4:1e-1", Rules())
    Row(labels=[2, 7], features=[3, 4], values=[0.5, 1.1])
    """
    text = _without_line_end(line, strict=rules.strict)
    if rules.comments and b"#" in text:
        text = text[: text.index(b"#")]
        if not text.strip(b" \t"):
            return None
    # A leading blank leaves an empty first word: a row without labels.
    first, *rest = _BLANKS.split(text)
    words = [word for word in rest if word]
    if b":" in first:
        words.insert(0, first)
        first = b""
    if rules.strict:
        _check_blanks(text, first, words)
    labels = _labels(first, rules) if first else []
    return Row(labels, *_features(words, rules))


def is_blank(line: bytes) -> bool:
    r"""Whether a line holds nothing but blanks and its line end.

    Examples
    --------
    >>> is_blank(b" \t\r\n"), is_blank(b"1\n")
    (True, False)
    """
    return not _without_line_end(line, strict=False).strip(b" \t")


def _without_line_end(line: bytes, *, strict: bool) -> bytes:
    if strict:
        if not line.endswith(b"\n"):
            raise LineError("strict wants a newline at the end of the last line")
        return line[:-1]
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _check_blanks(text: bytes, first: bytes, words: list[bytes]) -> None:
    expected = first + b" " + b" ".join(words)
    if text != expected and not (text == first and not words):
        raise LineError(
            "strict wants labels, then one space before each feature, and no other blanks"
        )


def _labels(word: bytes, rules: Rules) -> list[int]:
    found = [_whole(part, rules.n_labels, "label") for part in word.split(b",")]
    labels = sorted(set(found))
    if rules.strict and len(labels) < len(found):
        raise LineError(f"strict wants each label once: {_show(word)}")
    return labels


def _features(words: list[bytes], rules: Rules) -> tuple[list[int], list[float]]:
    pairs = [_pair(word, rules) for word in words]
    ids = [feature for feature, _ in pairs]
    if rules.strict and any(b <= a for a, b in pairwise(ids)):
        raise LineError("strict wants ascending features, each once")
    sums: dict[int, float] = {}
    for feature, value in pairs:
        sums[feature] = sums[feature] + value if feature in sums else value
    for feature, value in sums.items():
        if not abs(value) < rules.limit:
            raise LineError(f"feature {feature + rules.first_feature}: {value!r} is out of range")
    features = sorted(sums)
    return features, [sums[feature] for feature in features]


def _pair(word: bytes, rules: Rules) -> tuple[int, float]:
    number, colon, value = word.partition(b":")
    if not colon:
        raise LineError(f"{_show(word)} is not a feature:value pair")
    feature = _whole(number, rules.n_features + rules.first_feature, "feature")
    if feature < rules.first_feature:
        raise LineError(f"feature {feature}: ids begin at {rules.first_feature}")
    if not _VALUE.fullmatch(value) or (rules.strict and value.startswith(b"+")):
        raise LineError(f"feature {feature}: {_show(value)} is not a number")
    return feature - rules.first_feature, float(value)


def _whole(word: bytes, end: int, what: str) -> int:
    if not _DIGITS.fullmatch(word):
        raise LineError(f"{what} {_show(word)} is not a whole number")
    # Python refuses to turn thousands of digits into an int; ten digits decide.
    digits = word.lstrip(b"0") or b"0"
    if len(digits) > 10 or int(digits) >= end:
        raise LineError(f"{what} {_show(digits)} is not below {end}")
    return int(digits)


def _show(word: bytes, width: int = 40) -> str:
    shown = repr(word[:width])[1:]
    return shown if len(word) <= width else shown + "..."


class RowReader(Protocol):
    """Reads rows, then whatever lines follow."""

    position: Position

    def take(self, max_rows: int) -> ParsedRows:
        """Read at least one row and at most `max_rows`; none at the end of the file."""

    def line(self) -> bytes:
        """Read one raw line; empty at the end of the file."""


def rows_to_arrays(rows: list[Row]) -> ParsedRows:
    """Put parsed rows into arrays.

    Examples
    --------
    >>> rows_to_arrays([Row([1], [2, 4], [0.5, 1.0])]).features
    array([2, 4], dtype=int32)
    """
    return ParsedRows(
        np.array([len(row.labels) for row in rows], dtype=np.int64),
        np.array([label for row in rows for label in row.labels], dtype=np.int32),
        np.array([len(row.features) for row in rows], dtype=np.int64),
        np.array([feature for row in rows for feature in row.features], dtype=np.int32),
        np.array([value for row in rows for value in row.values], dtype=np.float64),
    )


def row_at(path: PathLike, number: int, line: bytes, rules: Rules) -> Row | None:
    """Parse line `number` of `path`; errors name both."""
    try:
        return parse_row(line, rules)
    except LineError as error:
        raise FormatError(path, number, str(error)) from None


class PythonRows:
    """The plain reader: a line at a time. Slow, and the oracle of the fast one."""

    def __init__(
        self, path: PathLike, stream: BufferedIOBase, rules: Rules, position: Position
    ) -> None:
        self.position = position
        self._path = path
        self._stream = stream
        self._rules = rules

    def line(self) -> bytes:
        """Read one raw line; empty at the end of the file."""
        line = self._stream.readline()
        if line:
            row, number, offset = self.position
            self.position = Position(row, number + 1, offset + len(line))
        return line

    def take(self, max_rows: int) -> ParsedRows:
        """Read up to `max_rows` rows; fewer only at the end of the file."""
        rows: list[Row] = []
        while len(rows) < max_rows and (line := self.line()):
            row = row_at(self._path, self.position.line, line, self._rules)
            if row is not None:
                rows.append(row)
        self.position = self.position._replace(row=self.position.row + len(rows))
        return rows_to_arrays(rows)
