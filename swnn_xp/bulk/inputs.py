"""The input files of a job: what identifies one, and whether it fits the model."""

from __future__ import annotations

import os
from typing import Any

import scipy.sparse as sp

from swnn_xp._checks import check_width


def file_identity(file: str | os.PathLike[str]) -> list[Any]:
    """Name, size and time of a file, in JSON's types; its folder may be mounted elsewhere."""
    status = os.stat(file)
    return [os.path.basename(file), status.st_size, status.st_mtime_ns]


def check_file_width(file: str | os.PathLike[str], found: int, expected: int) -> None:
    """Require no more features than the training rows had; the error names the file.

    Examples
    --------
    >>> check_file_width("new.txt", 7, 5)
    Traceback (most recent call last):
    ValueError: new.txt: X has 7 features, but the model was fitted with 5
    """
    try:
        check_width(found, expected)
    except ValueError as error:
        raise ValueError(f"{os.fspath(file)}: {error}") from None


def widened(X: sp.csr_array, n_features: int) -> sp.csr_array:
    """Rows as wide as the model: blocks of a file without a header end with their last feature.

    Examples
    --------
    >>> widened(sp.csr_array([[1]]), 3).shape
    (1, 3)
    """
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
