"""Rows and labels that can be learned, with ties and repeats, for all tests of learned models."""

import hashlib

import numpy as np


def rows_and_labels(n=80, d=15, n_labels=7, seed=0):
    """Labels follow from features, with some noise; values from a small set."""
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 0.0, 0.0, 1.0, 2.0], (n, d))
    Y = (X @ (rng.random((d, n_labels)) < 0.2) > 2) ^ (rng.random((n, n_labels)) < 0.05)
    return X, Y.astype(int)


def digest(clf):
    """Digest of all stored arrays and numbers of a ranker."""
    arrays, meta = clf.model_.ranking.stored()
    arrays = dict(arrays) | {"g": clf.feature_weights_}
    found = hashlib.sha256(repr(sorted(meta.items())).encode())
    for name in sorted(arrays):
        array = arrays[name]
        found.update(f"{name} {getattr(array, 'dtype', None)} {np.shape(array)}".encode())
        found.update(b"" if array is None else array.tobytes())
    return found.hexdigest()
