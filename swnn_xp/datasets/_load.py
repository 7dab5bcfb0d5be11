"""`load`: a data set by its name."""

from __future__ import annotations

from typing import Literal

from ._dataset import Dataset
from ._debtags import load_debtags


def load(name: str, *, weighting: Literal["tfidf", "counts"] | None = None) -> Dataset:
    """Load a data set by its name.

    Parameters
    ----------
    name : str
        ``"debtags"``, which is shipped with the package.
    weighting : {"tfidf", "counts"}, optional
        Values of the features: (1 + ln count) * idf, with idf from the training rows, or the
        counts themselves.

    Returns
    -------
    Dataset
        The training and test rows with their names.

    Examples
    --------
    >>> from swnn_xp import datasets
    >>> debtags = datasets.load("debtags")
    >>> debtags
    <Dataset debtags: 23859 + 5965 rows, 17756 features, 597 labels>
    """
    if name != "debtags":
        raise ValueError(f"no data set named {name!r}")
    if weighting not in (None, "tfidf", "counts"):
        raise ValueError(f'weighting must be "tfidf" or "counts", not {weighting!r}')
    return load_debtags(weighting or "tfidf")
