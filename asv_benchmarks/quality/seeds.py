"""How much chance there is in a ranker: `make bench-seeds`.

The defaults, trained with several seeds on all training rows and asked all test rows. The seed
decides which rows teach feature weights, which pairs teach the vote score, the order of the descent
and which rows are left out for probabilities.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import record

from swnn_xp import SWNNRanker, datasets, metrics

SETS = ("bibtex", "delicious", "citeulike-t", "eurlex57k")
ROOT = Path(__file__).resolve().parents[3] / "shared" / "data"
SEEDS = 3


def figures(data, seed):
    """Precision of the defaults with one seed, in percent."""
    clf = SWNNRanker(n_jobs=1, random_state=seed).fit(data.X_train, data.y_train)
    labels = clf.predict_topk(data.X_test, k=5).labels
    return {
        f"P@{k}": round(100 * metrics.precision_at_k(data.y_test, labels, k), 2) for k in (1, 3, 5)
    }


def main():
    for name in sys.argv[1:] or SETS:
        data = datasets.load(name, root=ROOT)
        for seed in range(SEEDS):
            row = {"dataset": name, "seed": seed} | figures(data, seed)
            print(row, flush=True)
            record("seeds", [row], ("dataset", "seed"))


if __name__ == "__main__":
    main()
