"""`TextVectorizer`: texts become the rows that a fitted `TfidfVectorizer` gives, bit for bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from swnn_kernels.parallel import once_property
from swnn_xp.rows.canonical import to_csr
from swnn_xp.text._from_sklearn import taken_over
from swnn_xp.text.analysis import Analysis, make_analyzer
from swnn_xp.text.weighting import Weighting, weigh


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
        return cls(*taken_over(vectorizer))

    @property
    def terms(self) -> Sequence[str]:
        """Name of each feature."""
        return self._terms() if callable(self._terms) else self._terms

    @once_property
    def vocabulary(self) -> dict[str, int]:
        """Feature of each term."""
        return {term: i for i, term in enumerate(self.terms)}

    def row(self, text: str) -> TextRow:
        """Turn one text into a row; terms that the model does not know are left out."""
        if not isinstance(text, str):
            raise ValueError(f"a text must be a str, not {type(text).__name__}")
        find, counts = self.vocabulary.get, Counter(self._analyze(text))
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
