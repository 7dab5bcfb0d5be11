"""Read a file by the slow and by the fast reader, and compare."""

from __future__ import annotations

import numpy as np

from swnn_xp.io import FormatError, read_svmlight, read_xmc

READERS = [
    (read_xmc, {}),
    (read_xmc, {"header": True, "dtype": np.float64}),
    (read_xmc, {"header": False}),
    (read_xmc, {"strict": True}),
    (read_svmlight, {"one_based": True}),
    (read_svmlight, {"n_features": 9, "n_labels": 5}),
]
"""Every kind of reading."""


def outcome(read, path, **options):
    """Arrays to the last bit, or the refusal with its line."""
    try:
        X, Y = read(path, **options)
    except FormatError as error:
        return str(error), error.line
    return [
        (A.shape, A.indptr.tolist(), A.indices.tolist(), A.data.dtype, A.data.tobytes())
        for A in (X, Y)
    ]


def agree(read, path, **options):
    """Fail unless both give the same arrays or the same refusal."""
    plain = outcome(read, path, engine="python", **options)
    assert outcome(read, path, engine="fast", **options) == plain
