"""The data sets of the experiments in numbers: `make bench-sets WRITE=1`."""

from __future__ import annotations

import sys
from pathlib import Path

from recorded import record

from swnn_xp import datasets

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from real_sets import checksums

ROOT = Path(__file__).resolve().parents[3] / "shared" / "data"
SETS = ("debtags", "bibtex", "delicious", "citeulike-t", "eurlex57k", "nvd-cpe", "finna-yso-en")


def figures(name):
    data = datasets.load(name, root=ROOT)
    n_rows = data.X_train.shape[0]
    return {
        "dataset": name,
        "train": n_rows,
        "test": data.X_test.shape[0],
        "features": data.X_train.shape[1],
        "labels": data.y_train.shape[1],
        "features_per_row": round(data.X_train.nnz / n_rows, 1),
        "labels_per_row": round(data.y_train.nnz / n_rows, 1),
        "rows_per_label": round(data.y_train.nnz / data.y_train.shape[1], 1),
        "sha256": checksums(ROOT / name),
    }


def main():
    rows = [figures(name) for name in SETS]
    print(*rows, sep="\n")
    record("sets", rows, ("dataset",))


if __name__ == "__main__":
    main()
