"""Stand-ins and small files for the tests of named data sets."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import swnn_xp.io


def _lines(path: Path) -> list[str]:
    if path.suffix == ".xz":
        return lzma.open(path, "rt").read().splitlines()
    return path.read_text().splitlines()


def _read_xmc(path: Path, strict: bool = False) -> tuple[Any, Any]:
    head, *rows = _lines(path)
    n, d, n_labels = map(int, head.split())
    X, Y = np.zeros((n, d), dtype=np.float32), np.zeros((n, n_labels), dtype=np.float32)
    for i, row in enumerate(rows):
        labels, _, pairs = row.partition(" ")
        Y[i, [int(label) for label in labels.split(",") if label]] = 1
        for pair in pairs.split():
            X[i, int(pair.split(":")[0])] = float(pair.split(":")[1])
    return csr_array(X), csr_array(Y)


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a small reader in where the library's is not there yet."""
    if not hasattr(swnn_xp.io, "read_xmc"):
        monkeypatch.setattr(swnn_xp.io, "read_xmc", _read_xmc, raising=False)
        monkeypatch.setattr(swnn_xp.io, "read_names", _lines, raising=False)
