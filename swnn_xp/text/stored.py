"""A vectoriser inside a stored model: the idf as an array, settings as JSON, no pickle.

The vocabulary is the model's feature names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swnn_xp.text.analysis import Analysis
from swnn_xp.text.vectorizer import TextVectorizer
from swnn_xp.text.weighting import Weighting

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
