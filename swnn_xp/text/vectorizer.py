"""`TextVectorizer`: texts become the rows that a fitted `TfidfVectorizer` gives, bit for bit.

A text is analysed (`Analysis`: words, characters, their n-grams) and its counts of terms are
weighted (`Weighting`), both as scikit-learn does it, but without scikit-learn. `fit_vectorizer`
takes over a fitted vectoriser; a model stores its idf as an array and its settings as JSON, without
pickle, and its vocabulary as the names of the features.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from swnn_kernels.parallel import once_property
from swnn_xp.rows.canonical import to_csr
from swnn_xp.rows.input_kind import as_texts


class Weighting(NamedTuple):
    """How counts of terms become values; the fields are parameters of `TfidfVectorizer`."""

    sublinear_tf: bool = False
    binary: bool = False
    norm: str | None = "l2"

    def check(self) -> None:
        """Raise a ValueError that names a field with a value that it can't have."""
        _require(
            self,
            sublinear_tf=isinstance(self.sublinear_tf, bool),
            binary=isinstance(self.binary, bool),
            norm=self.norm in (None, "l1", "l2"),
        )


def _require(settings: Weighting | Analysis, **valid: bool) -> None:
    for name, is_valid in valid.items():
        if not is_valid:
            raise ValueError(f"{name} can't be {getattr(settings, name)!r}")


def weigh(
    counts: NDArray[np.float64], idf: NDArray[np.float64] | None, how: Weighting
) -> NDArray[np.float64]:
    """Turn the counts of a row into its values, in place; ``idf`` holds those of its features.

    Examples
    --------
    >>> weigh(np.array([3.0, 4.0]), None, Weighting()).tolist()
    [0.6, 0.8]
    """
    values = counts
    if how.binary:
        values[:] = 1.0
    if how.sublinear_tf:
        np.log(values, values)
        values += 1.0
    if idf is not None:
        values *= idf
    if how.norm is not None and values.size:
        total = _norm(values, how.norm)
        if total != 0.0:
            values /= total
    return values


def _norm(values: NDArray[np.float64], norm: str) -> Any:
    # `accumulate` adds one by one, as scikit-learn's loop does; `sum` would add in pairs.
    if norm == "l1":
        return np.add.accumulate(np.abs(values))[-1]
    return np.sqrt(np.add.accumulate(values * values)[-1])


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
        _require(
            self,
            analyzer=self.analyzer in _ANALYZERS,
            ngram_range=1 <= low <= high <= _MAX_NGRAM,
            lowercase=isinstance(self.lowercase, bool),
            strip_accents=self.strip_accents in (None, "ascii", "unicode"),
            token_pattern=_is_pattern(self.token_pattern),
            stop_words=all(isinstance(word, str) for word in self.stop_words),
        )


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


_NEEDS = "raw text needs scikit-learn when a model is fitted: pip install 'swnn-xp[text]'"


def sklearn_text() -> Any:
    """Import scikit-learn's module for text, or say how to install it."""
    try:
        from sklearn.feature_extraction import text
    except ImportError as error:
        raise ImportError(_NEEDS) from error
    return text


def default_vectorizer(**options: Any) -> Any:
    """Scikit-learn's vectoriser as texts want it, not yet fitted: `swnn fit --text` has the same.

    Words of two letters or more, lower case, each counted as 1 + log(count), weighted by its idf.

    Parameters
    ----------
    **options
        Parameters of `TfidfVectorizer` that replace these.

    Examples
    --------
    >>> default_vectorizer(ngram_range=(1, 2))
    TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    """
    return sklearn_text().TfidfVectorizer(**({"sublinear_tf": True} | options))


def _arguments_from(vectorizer: Any) -> tuple[list[str], Any, Analysis, Weighting]:
    """Arguments of `TextVectorizer`, from a fitted `TfidfVectorizer`."""
    if not isinstance(vectorizer, sklearn_text().TfidfVectorizer):
        name = type(vectorizer).__name__
        raise ValueError(f"vectorizer must be scikit-learn's TfidfVectorizer, not {name}")
    if not hasattr(vectorizer, "vocabulary_"):
        raise ValueError("the vectorizer is not fitted: call its fit_transform(texts) first")
    _refuse_functions(vectorizer)
    low, high = vectorizer.ngram_range
    words = vectorizer.get_stop_words() if vectorizer.analyzer == "word" else None
    analysis = Analysis(
        analyzer=vectorizer.analyzer,
        ngram_range=(int(low), int(high)),
        lowercase=bool(vectorizer.lowercase),
        strip_accents=vectorizer.strip_accents,
        token_pattern=vectorizer.token_pattern or WORDS,
        stop_words=tuple(sorted(words or ())),
    )
    weighting = Weighting(bool(vectorizer.sublinear_tf), bool(vectorizer.binary), vectorizer.norm)
    idf = vectorizer.idf_ if vectorizer.use_idf else None
    return list(map(str, vectorizer.get_feature_names_out())), idf, analysis, weighting


def _refuse_functions(vectorizer: Any) -> None:
    for name in ("preprocessor", "tokenizer", "analyzer", "strip_accents"):
        if callable(getattr(vectorizer, name)):
            raise ValueError(f"the vectorizer's {name} is a function, which can't be stored")
    if vectorizer.input != "content":
        raise ValueError(f"the vectorizer must take texts, not input={vectorizer.input!r}")
    if np.dtype(vectorizer.dtype) != np.float64:
        raise ValueError(f"the vectorizer's dtype must be float64, not {vectorizer.dtype}")


class TextRow(NamedTuple):
    """A text as a sparse row: what `Session.predict_one` takes."""

    indices: NDArray[np.int64]
    """Features, ascending."""
    values: NDArray[np.float64]


class TextVectorizer:
    """Turns texts into rows without scikit-learn, exactly as scikit-learn does.

    `from_sklearn` makes one from a fitted `TfidfVectorizer`; a model that was fitted on texts holds
    one as ``clf.vectorizer_``.

    Parameters
    ----------
    terms : sequence of str, or a function that returns it
        Name of each feature.
    idf : float64 array (n_features,) or None
        Weights of the features.
    analysis : Analysis
    weighting : Weighting

    Examples
    --------
    >>> from swnn_xp.text import TextVectorizer
    >>> vectorizer = TextVectorizer(["chess", "game"], idf=[2.0, 1.0])
    >>> vectorizer.row("A game of chess: the game.").indices.tolist()
    [0, 1]
    """

    def __init__(
        self,
        terms: Sequence[str] | Callable[[], Sequence[str]],
        idf: Any = None,
        analysis: Analysis = Analysis(),  # noqa: B008 (it never changes)
        weighting: Weighting = Weighting(),  # noqa: B008
    ) -> None:
        analysis.check()
        weighting.check()
        self._terms = terms
        self.idf = None if idf is None else np.asarray(idf, np.float64)
        self.analysis, self.weighting = analysis, weighting
        self._analyze = make_analyzer(analysis)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.terms, self.idf, self.analysis, self.weighting)

    @classmethod
    def from_sklearn(cls, vectorizer: Any) -> TextVectorizer:
        """Take over the vocabulary and weights of a fitted `TfidfVectorizer`.

        Raises
        ------
        ValueError
            If it is not fitted, or calls functions of its user, which can't be stored.

        Examples
        --------
        >>> from sklearn.feature_extraction.text import TfidfVectorizer
        >>> theirs = TfidfVectorizer(sublinear_tf=True).fit(["red car", "blue car"])
        >>> TextVectorizer.from_sklearn(theirs).transform(["red, red car"]).shape
        (1, 3)
        """
        return cls(*_arguments_from(vectorizer))

    @property
    def terms(self) -> Sequence[str]:
        """Name of each feature."""
        return self._terms() if callable(self._terms) else self._terms

    @once_property
    def vocabulary(self) -> dict[str, int]:
        """Feature of each term."""
        return {term: i for i, term in enumerate(self.terms)}

    def analyze(self, text: str) -> list[str]:
        """List a text's terms, also those that are no features, each as often as it occurs."""
        if not isinstance(text, str):
            raise ValueError(f"a text must be a str, not {type(text).__name__}")
        return self._analyze(text)

    def row(self, text: str) -> TextRow:
        """Turn one text into a row; terms that the model does not know are left out."""
        return self._row(self._counts(text))

    def row_and_unknown(self, text: str) -> tuple[TextRow, list[str] | None]:
        """Turn one text into a row, and name the words that the model does not know.

        None instead of words where terms are characters, or of several words only.

        Examples
        --------
        >>> from swnn_xp.text import TextVectorizer
        >>> TextVectorizer(["chess", "game"]).row_and_unknown("A chess of kings")[1]
        ['of', 'kings']
        """
        counts = self._counts(text)
        row = self._row(counts)
        if self.analysis.analyzer != "word" or self.analysis.ngram_range[0] > 1:
            return row, None
        is_phrase = self.analysis.ngram_range[1] > 1
        unknown = [term for term in counts if term not in self.vocabulary]
        return row, [term for term in unknown if not (is_phrase and " " in term)]

    def _counts(self, text: str) -> Counter[str]:
        return Counter(self.analyze(text))

    def _row(self, counts: Counter[str]) -> TextRow:
        find = self.vocabulary.get
        known = {i: n for term, n in counts.items() if (i := find(term)) is not None}
        indices = np.fromiter(known, np.int64, len(known))
        values = np.fromiter(known.values(), np.float64, len(known))
        order = indices.argsort()
        indices = indices[order]
        idf = None if self.idf is None else self.idf[indices]
        return TextRow(indices, weigh(values[order], idf, self.weighting))

    def transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Turn texts into a matrix (n_texts, n_features)."""
        rows = [self.row(text) for text in texts]
        indptr = np.cumsum([0, *(row.indices.size for row in rows)])
        indices = np.concatenate([np.zeros(0, np.int64), *(row.indices for row in rows)])
        values = np.concatenate([np.zeros(0), *(row.values for row in rows)])
        return to_csr(indptr, indices, values, (len(rows), len(self.vocabulary)))

    def check(self) -> None:
        """Raise a ValueError if two features have the same name."""
        if len(self.vocabulary) != len(self.terms):
            raise ValueError("two features of the text have the same name")


def term_names(
    vectorizer: TextVectorizer | None, feature_names: list[str] | None
) -> list[str] | None:
    """Names of the features: those of a vectoriser's terms, or those given."""
    if vectorizer is None:
        return feature_names
    if feature_names is not None:
        raise ValueError("feature_names are the vectorizer's terms: don't give both")
    return list(vectorizer.terms)


def fit_vectorizer(X: Any, vectorizer: Any) -> tuple[Any, TextVectorizer | None]:
    """Rows to fit a model on, and the vectoriser that it keeps.

    Texts are turned into rows by a `TextVectorizer`, or by a copy of scikit-learn's (default:
    `default_vectorizer`) that is fitted on them. A matrix stays as it is: the vectoriser that made
    it must be fitted.
    """
    texts = as_texts(X)
    if vectorizer is None:
        if texts is None:
            return X, None
        vectorizer = default_vectorizer()
    if isinstance(vectorizer, TextVectorizer):
        return (X if texts is None else vectorizer.transform(texts)), vectorizer
    if texts is not None:
        sklearn_text()  # says what to install
        from sklearn.base import clone

        vectorizer = clone(vectorizer)
        X = vectorizer.fit_transform(texts)
    return X, TextVectorizer.from_sklearn(vectorizer)


IDF = "text_idf"
"""Name of the array."""


def stored_settings(vectorizer: TextVectorizer) -> dict[str, Any]:
    """Settings as JSON has them.

    Examples
    --------
    >>> stored_settings(TextVectorizer(["a"]))["analysis"]["ngram_range"]
    [1, 1]
    """
    analysis = vectorizer.analysis._asdict()
    analysis |= {name: list(analysis[name]) for name in ("ngram_range", "stop_words")}
    return {"analysis": analysis, "weighting": vectorizer.weighting._asdict()}


def stored_arrays(vectorizer: TextVectorizer) -> dict[str, NDArray[np.float64]]:
    """Arrays by name."""
    return {} if vectorizer.idf is None else {IDF: vectorizer.idf}


def vectorizer_from(
    settings: Any, idf: Any, terms: Callable[[], Sequence[str]], n_features: int
) -> TextVectorizer:
    """Make the vectoriser again; a ValueError says what of it is damaged or forged."""
    if idf is not None:
        fits = idf.dtype == np.float64 and idf.shape == (n_features,)
        if not fits or not np.all((idf >= 0) & (idf < np.inf)):
            raise ValueError(f"{IDF} must be one finite number for each feature")
    try:
        analysis = _lists_to_tuples(settings["analysis"])
        return TextVectorizer(terms, idf, Analysis(**analysis), Weighting(**settings["weighting"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the settings of the text are damaged: {error}") from None


def _lists_to_tuples(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
    }
