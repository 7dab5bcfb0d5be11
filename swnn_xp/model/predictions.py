"""Predictions in the form in which the labels were given to `fit`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from swnn_xp.model.model import Model
from swnn_xp.rows.input_kind import host_matrix

MatrixOf = Literal["scores", "probabilities", "predicted"]
"""What a matrix (n_queries, n_labels) may hold."""

_NUDGE = 2.0**-40  # lost in no normalisation, and far below what a probability means


def label_values(model: Model) -> NDArray[Any]:
    """What each column stands for, where labels were given by value."""
    if model.targets.values is not None:
        return model.targets.values
    dtype = object if model.targets.form == "lists" else None
    return np.asarray(model.names["label_names"], dtype=dtype)


def as_given(model: Model, matrix: Any) -> Any:
    """Scores of labels, a row for each query: dense if the labels were."""
    if model.targets.form != "dense":
        return matrix
    return dense(matrix)


def chosen_as_given(model: Model, matrix: Any) -> Any:
    """Labels that were chosen, marked in a matrix: as a matrix like y, or as lists of labels."""
    if model.targets.form == "dense":
        return _whole_numbers(dense(matrix))
    if model.targets.form != "lists":
        return matrix
    csr = host_matrix(matrix)
    ends = csr.indptr.tolist()
    chosen = label_values(model)[csr.indices].tolist()
    return [chosen[start:stop] for start, stop in pairwise(ends)]


def class_scores(model: Model, scores: Any) -> NDArray[np.float64]:
    """Scores of classes; queries without neighbours get each class's share of the rows."""
    filled: NDArray[np.float64] = np.array(dense(host_matrix(scores)))
    empty = ~filled.any(axis=1)
    filled[empty] = model.label_counts / max(int(model.label_counts.sum()), 1)
    return filled


def best_classes(model: Model, best: Any) -> NDArray[Any]:
    """The class of each query from its best label; the most frequent one where there is none."""
    labels = host_matrix(best).reshape(-1)
    classes: NDArray[Any] = label_values(model)
    return classes[np.where(labels >= 0, labels, int(np.argmax(model.label_counts)))]


def class_probabilities(model: Model, scores: Any, matrix: Any) -> NDArray[np.float64]:
    """Probabilities of classes, which add up to 1 in each row.

    Where every probability is 0, the scores say how they compare. Calibration maps many scores to
    one probability: the class of the best score is then nudged ahead, so that probabilities,
    decisions and predictions agree.
    """
    likely, decisive = np.array(dense(host_matrix(matrix))), class_scores(model, scores)
    empty = ~likely.any(axis=1)
    likely[empty] = decisive[empty]
    best = np.argmax(decisive, axis=1)
    tied = np.flatnonzero(best != np.argmax(likely, axis=1))
    likely[tied, best[tied]] = likely[tied].max(axis=1, initial=0) * (1 + _NUDGE)
    return likely / likely.sum(axis=1, keepdims=True)


def dense(matrix: Any) -> Any:
    """A dense array of the matrix's own library."""
    for method in ("toarray", "to_dense"):  # of SciPy and CuPy, of torch
        if hasattr(matrix, method):
            return getattr(matrix, method)()
    return matrix


def _whole_numbers(matrix: Any) -> Any:
    return matrix.astype(np.int64) if isinstance(matrix, np.ndarray) else matrix
