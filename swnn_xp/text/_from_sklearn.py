"""What of a scikit-learn vectoriser `TextVectorizer` takes over, and what it can't."""

from __future__ import annotations

from typing import Any

import numpy as np

from swnn_xp.text.analysis import WORDS, Analysis
from swnn_xp.text.weighting import Weighting

_NEEDS = "raw text needs scikit-learn when a model is fitted: pip install 'swnn-xp[text]'"


def sklearn_text() -> Any:
    """Import scikit-learn's module for text, or say how to install it."""
    try:
        from sklearn.feature_extraction import text
    except ImportError as error:
        raise ImportError(_NEEDS) from error
    return text


def taken_over(vectorizer: Any) -> tuple[list[str], Any, Analysis, Weighting]:
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
