"""What a query returns: named tuples of arrays, with one row for each query."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Neighbours(NamedTuple):
    """The most similar training rows of each query, best first.

    ``kneighbors`` returns it, in scikit-learn's order: how near first, then which. The arrays are
    of the library that the queries came from. Where a query has fewer neighbours than asked for,
    the remaining slots hold id -1 and similarity 0.

    Attributes
    ----------
    similarities : float64 array (n_queries, n_neighbors)
        At most 1. For a single query of a session the shape is (n_neighbors,).
    ids : int64 array of the same shape
        Ids of the training rows.

    Examples
    --------
    >>> from swnn_xp import SWNNClassifier
    >>> clf = SWNNClassifier(n_neighbors=2).fit([[1, 1], [0, 1]], [[1, 0], [0, 1]])
    >>> similarities, ids = clf.kneighbors([[0, 3]])
    >>> ids.tolist()
    [[1, 0]]
    """

    similarities: NDArray[np.float64]
    ids: NDArray[np.int64]


class Ranking(NamedTuple):
    """The best labels of each query, best first.

    ``predict_topk`` returns it. The arrays are of the library that the queries came from. Where
    fewer labels than asked for got a vote, the remaining slots hold label -1 and score 0.

    Attributes
    ----------
    labels : int64 array (n_queries, k)
        Label ids. For a single query of a session the shape is (k,).
    scores : float64 array of the same shape
        The labels' votes: the sum of ``similarity**alpha`` over the neighbours that have the label.

    Examples
    --------
    >>> from swnn_xp import SWNNClassifier
    >>> clf = SWNNClassifier(n_neighbors=2).fit([[1, 1], [0, 1]], [[1, 0], [0, 1]])
    >>> clf.predict_topk([[0, 3]], k=1).labels.tolist()
    [[1]]
    """

    labels: NDArray[np.int64]
    scores: NDArray[np.float64]


class RankedProbabilities(NamedTuple):
    """The best labels of each query, best first, and how likely each is right.

    ``topk_probabilities`` returns it: the labels and scores of `Ranking`, and a probability for
    each. Slots without a label hold label -1, score 0 and probability 0.

    Attributes
    ----------
    labels : int64 array (n_queries, k)
        Label ids. For a single query of a session the shape is (k,).
    scores : float64 array of the same shape
        What the labels are ranked by.
    probabilities : float64 array of the same shape
        From 0 to 1; they never rise along a row.

    Examples
    --------
    >>> from swnn_xp import SWNNClassifier
    >>> clf = SWNNClassifier(n_neighbors=2).fit([[1, 1], [0, 1]], [[1, 0], [0, 1]])
    >>> clf.topk_probabilities([[3, 0]], k=1).probabilities.tolist()
    [[1.0]]
    """

    labels: NDArray[np.int64]
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]
