"""Tell texts from matrices, and get both ready for `fit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swnn_xp.text._from_sklearn import sklearn_text
from swnn_xp.text.vectorizer import TextVectorizer


def as_texts(X: Any) -> Sequence[str] | None:
    """Return X if it is a sequence of texts (list, array, column of a table), else None.

    Examples
    --------
    >>> as_texts(["a text"]), as_texts([[1, 0]])
    (['a text'], None)
    """
    if isinstance(X, str):
        raise ValueError("X is one text: put it into a list")
    if isinstance(X, list | tuple):
        return X if X and isinstance(X[0], str) else None
    if getattr(X, "ndim", None) == 1 and getattr(X.dtype, "kind", "") in "OUT":
        texts = list(X)
        return texts if texts and isinstance(texts[0], str) else None
    return None


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

    Texts are turned into rows by a `TextVectorizer`, or by a copy of scikit-learn's that is fitted
    on them. A matrix stays as it is: the vectoriser that made it must be fitted.
    """
    texts = as_texts(X)
    if vectorizer is None:
        if texts is not None:
            raise ValueError("X holds texts: give fit a vectorizer, such as TfidfVectorizer()")
        return X, None
    if isinstance(vectorizer, TextVectorizer):
        return (X if texts is None else vectorizer.transform(texts)), vectorizer
    if texts is not None:
        sklearn_text()  # says what to install
        from sklearn.base import clone

        vectorizer = clone(vectorizer)
        X = vectorizer.fit_transform(texts)
    return X, TextVectorizer.from_sklearn(vectorizer)
