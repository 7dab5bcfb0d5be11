"""CPU time of `relearn` on EURLEX57K: 5, 40 and 400 stale labels, all labels, and everything.

    python asv_benchmarks/learning/relearning.py ../shared/data/eurlex57k build/bench-relearning

Test rows are appended until that many labels are stale. One thread. A first relearning, which is
not measured, compiles what there is to compile.
"""

import sys
import time
from pathlib import Path

from swnn_xp import SWNNRanker, load, read_xmc

WANTED = 5, 40, 400


def main() -> None:
    data, work = Path(sys.argv[1]), Path(sys.argv[2])
    if not data.is_dir():
        sys.exit(f"left out: no data at {data}")
    model = work / "model"
    if not model.exists():
        work.mkdir(parents=True, exist_ok=True)
        SWNNRanker().fit(*read_xmc(data / "train.txt.xz")).save(model)
    X, Y = read_xmc(data / "test.txt.xz")
    load(model).partial_fit(X[:1], Y[:1]).relearn()
    print(f"{'labels':>8}{'rows added':>12}{'CPU s':>8}")
    for wanted in WANTED:
        clf, n_rows = load(model), 0
        while clf.staleness_.labels.size < wanted:
            clf.partial_fit(X[[n_rows]], Y[[n_rows]])
            n_rows += 1
        report(clf.staleness_.labels.size, n_rows, clf.relearn)
    clf = load(model)
    report(clf.n_labels_, 0, lambda: clf.relearn(range(clf.n_labels_)))
    report("all", 0, lambda: clf.relearn("all"))


def report(labels: int | str, n_rows: int, work) -> None:
    began = time.process_time()
    work()
    print(f"{labels:>8}{n_rows:>12}{time.process_time() - began:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
