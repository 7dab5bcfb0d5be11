"""A synthetic twin, made once and kept as memory-mapped arrays."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

from scipy.sparse import csr_array

from swnn_xp.datasets import make_twin
from swnn_xp.store import open_arrays, save_arrays

_PARTS = ("X_train", "y_train", "X_test", "y_test")


class Twin(NamedTuple):
    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


def make(name: str, scale: float, folder: Path) -> None:
    """Make a twin and keep it."""
    twin = make_twin(name, scale)
    arrays, meta = {}, {}
    for part in _PARTS:
        matrix = getattr(twin, part)
        meta[part] = list(matrix.shape)
        arrays |= {f"{part}.{key}": getattr(matrix, key) for key in ("indptr", "indices", "data")}
    save_arrays(folder, arrays, meta)


def open_twin(folder: Path) -> Twin:
    """Map a twin that `make` kept; nothing is read before it is used."""
    stored = open_arrays(folder)
    matrices = []
    for part in _PARTS:
        data, indices, indptr = (
            stored.arrays[f"{part}.{key}"] for key in ("data", "indices", "indptr")
        )
        matrices.append(csr_array((data, indices, indptr), tuple(stored.meta[part])))
    return Twin(*matrices)


if __name__ == "__main__":
    make(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]))
