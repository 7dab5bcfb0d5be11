"""Which columns a model was fitted with, and whether those of a query are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np


def column_names(X: Any) -> list[str] | None:
    """Names of the columns of a table (pandas, Polars); None if it has no texts as names.

    Examples
    --------
    >>> column_names([[1, 2]]) is None
    True
    """
    if not hasattr(X, "columns") or not hasattr(X, "to_numpy"):
        return None
    names = list(X.columns)
    are_texts = [isinstance(name, str) for name in names]
    if any(are_texts) and not all(are_texts):
        raise ValueError("column names must be all strings, or none of them")
    return names if names and are_texts[0] else None


def check_same_names(found: Sequence[str], expected: Sequence[str]) -> None:
    """Require the names of `fit`, in its order; an error names the first that differs.

    Examples
    --------
    >>> check_same_names(["a", "c"], ["a", "b"])
    Traceback (most recent call last):
    ValueError: The feature names should match those that were passed during fit: column 1 is 'c', not 'b'
    """  # noqa: E501
    head = "The feature names should match those that were passed during fit"
    for i, (mine, its) in enumerate(zip(found, expected, strict=False)):
        if mine != its:
            reordered = " (the same columns in another order)" * (set(found) == set(expected))
            raise ValueError(f"{head}: column {i} is {mine!r}, not {its!r}{reordered}")
    if len(found) != len(expected):
        raise ValueError(f"{head}: there are {len(found)} columns, not {len(expected)}")


def check_columns(
    X: Any, n_features: int, names: Sequence[str] | None, model: str, narrower: bool
) -> Any:
    """Require the columns of `fit`: their names, if X has any, and as many of them; return X."""
    found = column_names(X)
    if found is not None and names is not None:
        check_same_names(found, names)
    X = X if hasattr(X, "shape") else np.asarray(X)
    shape = X.shape
    if len(shape) == 2 and (shape[1] > n_features or (shape[1] < n_features and not narrower)):
        way_out = "; allow_narrower=True takes missing columns for zeros"
        raise ValueError(
            f"X has {shape[1]} features, but {model} is expecting {n_features} features as input"
            + way_out * (shape[1] < n_features)
        )
    return X


def fingerprint(names: Sequence[str]) -> str:
    r"""A short digest of the names of features, in their order.

    Examples
    --------
    >>> fingerprint(["sun", "sea"]) == fingerprint(["sea", "sun"])
    False
    """
    digest = hashlib.sha256()
    for name in names:
        encoded = name.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()[:32]
