"""From a text to its terms: words, characters and their n-grams, as scikit-learn defines them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any, NamedTuple

WORDS = r"(?u)\b\w\w+\b"
_ANALYZERS = ("word", "char", "char_wb")
_MAX_NGRAM = 100
_MAX_PATTERN = 1000
_SEPARATED = {code: " " for code in range(128) if not re.match(r"\w", chr(code))}
_SPACES = re.compile(r"\s\s+")

Analyzer = Callable[[str], list[str]]


class Analysis(NamedTuple):
    """How texts become terms; the fields are parameters of `TfidfVectorizer`."""

    analyzer: str = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    strip_accents: str | None = None
    token_pattern: str = WORDS
    stop_words: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise a ValueError that names a field with a value that it can't have."""
        low, high = self.ngram_range
        for name, holds in (
            ("analyzer", self.analyzer in _ANALYZERS),
            ("ngram_range", 1 <= low <= high <= _MAX_NGRAM),
            ("lowercase", isinstance(self.lowercase, bool)),
            ("strip_accents", self.strip_accents in (None, "ascii", "unicode")),
            ("token_pattern", _is_pattern(self.token_pattern)),
            ("stop_words", all(isinstance(word, str) for word in self.stop_words)),
        ):
            if not holds:
                raise ValueError(f"{name} can't be {getattr(self, name)!r}")


def make_analyzer(analysis: Analysis) -> Analyzer:
    """Make the function that lists a text's terms, each as often as it occurs.

    Examples
    --------
    >>> make_analyzer(Analysis(ngram_range=(1, 2), stop_words=("the",)))("Tag the Debian package")
    ['tag', 'debian', 'package', 'tag debian', 'debian package']
    """
    prepare = _preparation(analysis)
    if analysis.analyzer == "word":
        return _word_analyzer(analysis, prepare)
    low, high = analysis.ngram_range
    ngrams = _char_ngrams if analysis.analyzer == "char" else _char_ngrams_within_words
    return lambda text: ngrams(_SPACES.sub(" ", prepare(text)), low, high)


def _preparation(analysis: Analysis) -> Callable[[str], str]:
    if analysis.strip_accents is None:
        return str.lower if analysis.lowercase else str
    strip = _ascii_only if analysis.strip_accents == "ascii" else _without_accents
    if analysis.lowercase:
        return lambda text: strip(text.lower())
    return strip


def _word_analyzer(analysis: Analysis, prepare: Callable[[str], str]) -> Analyzer:
    find = _word_finder(analysis.token_pattern)
    stop_words = frozenset(analysis.stop_words)
    low, high = analysis.ngram_range

    def analyze(text: str) -> list[str]:
        words: list[str] = find(prepare(text))
        if stop_words:
            words = [word for word in words if word not in stop_words]
        return words if high == 1 else _word_ngrams(words, low, high)

    return analyze


def _word_finder(pattern: str) -> Analyzer:
    find = re.compile(pattern).findall
    if pattern != WORDS:
        return find

    def find_words(text: str) -> list[str]:
        if not text.isascii():
            return find(text)
        # The same words three times as fast: whatever is no part of a word separates them.
        return [word for word in text.translate(_SEPARATED).split() if len(word) > 1]

    return find_words


def _word_ngrams(words: list[str], low: int, high: int) -> list[str]:
    terms = list(words) if low == 1 else []
    for n in range(max(low, 2), min(high, len(words)) + 1):
        terms += map(" ".join, zip(*(words[i:] for i in range(n)), strict=False))
    return terms


def _char_ngrams(text: str, low: int, high: int) -> list[str]:
    return [
        text[start : start + n]
        for n in range(low, min(high, len(text)) + 1)
        for start in range(len(text) - n + 1)
    ]


def _char_ngrams_within_words(text: str, low: int, high: int) -> list[str]:
    terms: list[str] = []
    for word in text.split():
        padded = f" {word} "
        for n in range(low, high + 1):
            terms += [padded[i : i + n] for i in range(max(len(padded) - n, 0) + 1)]
            if n >= len(padded):
                break  # a short word counts once, whole
    return terms


def _ascii_only(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ASCII", "ignore").decode("ASCII")


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _is_pattern(pattern: Any) -> bool:
    if not isinstance(pattern, str) or len(pattern) > _MAX_PATTERN:
        return False
    try:
        return re.compile(pattern).groups <= 1
    except (re.error, RecursionError, OverflowError):
        return False
