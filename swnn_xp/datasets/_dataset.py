"""The record that every loader and generator of data returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, repr=False)
class Dataset:
    """A multi-label data set, split into training and test rows.

    Attributes
    ----------
    name : str
        The name it was loaded by.
    X_train, X_test : scipy.sparse.csr_array
        Features, float32, one row per example.
    y_train, y_test : scipy.sparse.csr_array
        Labels, 0/1, one row per example.
    feature_names, label_names : list of str
        One name per column; empty if the set has no names.
    row_names_train, row_names_test : list of str
        One name per row; empty if the set has no names.
    differences : tuple of str
        Differences from the published figures, one sentence each. `load` reports a mismatch here
        and raises no warning.
    """

    name: str
    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any
    feature_names: list[str]
    label_names: list[str]
    row_names_train: list[str]
    row_names_test: list[str]
    differences: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n_test, n_labels = self.y_test.shape
        n_train, n_features = self.X_train.shape
        text = f"{n_train} + {n_test} rows, {n_features} features, {n_labels} labels"
        noted = f", {len(self.differences)} differences" if self.differences else ""
        return f"<Dataset {self.name}: {text}{noted}>"
