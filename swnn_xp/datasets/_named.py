"""Read a data set from the user's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ._compare import differences
from ._dataset import Dataset
from ._files import Files
from ._registry import find_published


def load_named(name: str, files: Files, split: int) -> Dataset:
    """Read the files and compare them with what is published of the set."""
    from swnn_xp.io import read_xmc  # here, so that debtags needs no reader

    if len(files.data) == 2:
        (X_train, y_train), (X_test, y_test) = (read_xmc(path) for path in files.data)
    else:
        X, y = read_xmc(files.data[0])
        train, test = (_split_rows(path, split, X.shape[0]) for path in files.data[1:])
        X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
    published = find_published(name)
    feature_names, noted_x = _names(files.feature_map, X_train.shape[1])
    label_names, noted_y = _names(files.label_map, y_train.shape[1])
    noted = differences(published, X_train, y_train, y_test) if published else ()
    return Dataset(
        name=published.name if published else name,
        X_train=X_train,
        y_train=y_train,
        X_test=X_test,
        y_test=y_test,
        feature_names=feature_names,
        label_names=label_names,
        row_names_train=[],
        row_names_test=[],
        differences=noted + noted_x + noted_y,
    )


def _names(path: Path | None, n_columns: int) -> tuple[list[str], tuple[str, ...]]:
    """Names of the columns; none, and a note, if their number is wrong."""
    from swnn_xp.io import read_names

    names = read_names(path) if path else []
    if path is None or len(names) == n_columns:
        return names, ()
    return [], (f"{path.name}: {len(names):,} names for {n_columns:,} columns, left out",)


def _split_rows(path: Path, split: int, n_rows: int) -> Any:
    """Row ids of one split: the file has one column per split and counts rows from 1."""
    columns = np.loadtxt(path, dtype=np.int64, ndmin=2)
    if not 0 <= split < columns.shape[1]:
        raise ValueError(f"{path}: has splits 0 to {columns.shape[1] - 1}, not {split}")
    rows = columns[:, split] - 1
    if rows.size and not 0 <= rows.min() <= rows.max() < n_rows:
        raise ValueError(f"{path}: split {split} names rows outside 1 to {n_rows}")
    return rows
