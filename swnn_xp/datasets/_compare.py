"""Differences between a data set and its published figures."""

from __future__ import annotations

from typing import Any

from ._registry import Published

# Means are published with two decimals, and the two means of a set agree to about 0.1%.
_ABSOLUTE, _RELATIVE = 0.006, 0.001


def differences(published: Published, X_train: Any, y_train: Any, y_test: Any) -> tuple[str, ...]:
    """Describe each difference in one sentence."""
    n_rows, n_labels = y_train.shape[0], y_train.shape[1]
    n_pairs = y_train.nnz
    if published.means_over == "all":
        n_rows += y_test.shape[0]
        n_pairs += y_test.nnz
    counts = [
        ("features", published.n_features, X_train.shape[1]),
        ("labels", published.n_labels, n_labels),
        ("training rows", published.n_train, X_train.shape[0]),
        ("test rows", published.n_test, y_test.shape[0]),
    ]
    means = [
        ("points per label", published.points_per_label, n_pairs / max(n_labels, 1)),
        ("labels per point", published.labels_per_point, n_pairs / max(n_rows, 1)),
    ]
    return tuple(
        f"{what}: published {stated:,}, found {round(found, 2):,}"
        for what, stated, found in [
            *((w, t, f) for w, t, f in counts if t is not None and t != f),
            *((w, t, f) for w, t, f in means if t is not None and not _close(t, f)),
        ]
    )


def _close(stated: float, found: float) -> bool:
    return abs(stated - found) <= _ABSOLUTE + _RELATIVE * stated
