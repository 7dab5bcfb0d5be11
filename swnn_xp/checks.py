"""Checks of what users pass: parameters, names, and the columns of a query against those of `fit`.

Each raises a ValueError of one line that says what was wrong.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray


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


def check_count(value: Any, name: str) -> None:
    """Require a whole number of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")


def check_exponent(value: Any, name: str) -> None:
    """Require a finite number of at least 0."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}")


def check_positive(value: Any, name: str) -> None:
    """Require a finite number above 0."""
    check_exponent(value, name)
    if value == 0:
        raise ValueError(f"{name} must be above 0, got {value!r}")


def check_part(value: Any, name: str) -> None:
    """Require a part of a whole: above 0, at most 1."""
    check_exponent(value, name)
    if not 0 < value <= 1:
        raise ValueError(f"{name} must be above 0 and at most 1, got {value!r}")


def check_seed(value: Any) -> None:
    """Require a whole number of at least 0, as a seed that can be stored."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or not 0 <= int(value) < 2**63:
        raise ValueError(f"random_state must be a whole number of at least 0, got {value!r}")


def check_search(value: Any) -> None:
    """Raise ValueError unless it says how neighbours are searched.

    Examples
    --------
    >>> check_search("fast")
    Traceback (most recent call last):
    ValueError: search must be 'exact', 'capped', 'auto' or a number of postings, got 'fast'
    """
    if isinstance(value, str):
        if value not in ("exact", "capped", "auto"):
            wanted = "'exact', 'capped', 'auto' or a number of postings"
            raise ValueError(f"search must be {wanted}, got {value!r}")
        return
    check_count(value, "search")


def check_flag(value: Any, name: str, *, or_auto: bool = False) -> None:
    """Require True or False, or "auto" if that is one of the choices."""
    if isinstance(value, bool | np.bool_) or (or_auto and value == "auto"):
        return
    choices = "True, False or 'auto'" if or_auto else "True or False"
    raise ValueError(f"{name} must be {choices}, got {value!r}")


def check_threads(n_jobs: Any) -> int:
    """Turn ``n_jobs`` into a number of threads: None means 1, -1 all cores this process may use.

    The only place that resolves -1: whatever is called from here on takes a plain number.
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, Integral) and n_jobs == -1:
        return len(os.sched_getaffinity(0))
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs < 1:
        raise ValueError(f"n_jobs must be -1 or a whole number of at least 1, got {n_jobs!r}")
    return int(n_jobs)


def check_width(found: int, expected: int) -> None:
    """Require no more features than the training rows had."""
    if found > expected:
        raise ValueError(f"X has {found} features, but the model was fitted with {expected}")


def check_label_width(found: int, expected: int, narrower: bool) -> None:
    """Require a column for each label that the model has; fewer only where that is allowed."""
    if found < expected and not narrower:
        raise ValueError(
            f"y has {found} labels, but the model has {expected}; "
            "allow_narrower=True takes missing columns for zeros"
        )


def check_names(names: Sequence[str] | None, expected: int, what: str) -> list[str] | None:
    """Require one name for each column or row."""
    if names is None:
        return None
    if len(names) != expected:
        raise ValueError(f"{what} has {len(names)} names, expected {expected}")
    return [str(name) for name in names]


def check_feature_weights(weights: Any) -> NDArray[np.float64] | None:
    """Require one positive, finite number for each feature."""
    if weights is None:
        return None
    checked = np.asarray(weights, dtype=np.float64)
    if checked.ndim != 1 or not np.all((checked > 0) & (checked < np.inf)):
        raise ValueError("feature_weights must be one positive number for each feature")
    return checked


def check_threshold(value: Any) -> None:
    """Require "f1" or a probability."""
    if isinstance(value, str) and value == "f1":
        return
    try:
        fits = not isinstance(value, (bool, str)) and 0 <= float(value) <= 1
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise ValueError(f"threshold must be 'f1' or a number from 0 to 1, got {value!r}")


def to_python_scalar(value: Any) -> Any:
    """Turn NumPy's numbers, which a search over parameters leaves behind, into Python's."""
    return value.item() if isinstance(value, np.generic) else value
