"""Predictions in the form in which the labels were given to `fit`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swnn_xp.model.model import Model
from swnn_xp.rows.input_kind import host_matrix


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
    """Labels that were chosen, marked in a matrix: as a matrix like Y, or as lists of labels."""
    if model.targets.form == "dense":
        return _whole_numbers(dense(matrix))
    if model.targets.form != "lists":
        return matrix
    csr = host_matrix(matrix)
    ends = csr.indptr.tolist()
    chosen = label_values(model)[csr.indices].tolist()
    return [chosen[start:stop] for start, stop in pairwise(ends)]


def best_classes(model: Model, best: Any) -> NDArray[Any]:
    """The class of each query from its best label; the most frequent one where there is none."""
    labels = host_matrix(best).reshape(-1)
    classes: NDArray[Any] = label_values(model)
    return classes[np.where(labels >= 0, labels, int(np.argmax(model.label_counts)))]


def class_scores(model: Model, matrix: Any) -> NDArray[np.float64]:
    """Scores of classes; queries without neighbours get each class's share of the rows."""
    filled: NDArray[np.float64] = np.array(dense(host_matrix(matrix)))
    empty = ~filled.any(axis=1)
    filled[empty] = model.label_counts / max(int(model.label_counts.sum()), 1)
    return filled


def class_decisions(
    model: Model, matrix: Any, probabilities: Callable[[], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Scores of classes; of two classes, by how much more likely the second is.

    scikit-learn wants a single figure for two classes, and its order to be that of probabilities.
    """
    if model.labels.n_labels == 2:
        likely = probabilities()
        return likely[:, 1] - likely[:, 0]
    return class_scores(model, matrix)


def class_probabilities(
    model: Model, matrix: Any, decisions: Callable[[], Any]
) -> NDArray[np.float64]:
    """Probabilities of classes, which add up to 1 in each row.

    Where every probability is 0, the decisions, which are positive, say how they compare.
    """
    likely = np.array(dense(host_matrix(matrix)))
    empty = ~likely.any(axis=1)
    if empty.any():
        likely[empty] = class_scores(model, decisions())[empty]
    return likely / likely.sum(axis=1, keepdims=True)


def dense(matrix: Any) -> Any:
    """A dense array of the matrix's own library."""
    for method in ("toarray", "to_dense"):  # of SciPy and CuPy, of torch
        if hasattr(matrix, method):
            return getattr(matrix, method)()
    return matrix


def _whole_numbers(matrix: Any) -> Any:
    return matrix.astype(np.int64) if isinstance(matrix, np.ndarray) else matrix
