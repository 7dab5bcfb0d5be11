"""Does the ranker stay ahead as rows grow? `make bench-growth`.

The ranker and omikuji, trained on random subsets of the training rows of finna-yso-en, each a part
of the next, and asked all test rows. Each runs in a process of its own on one thread. What
docs/data/growth.json already holds is not measured again, so a run can be stopped and resumed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from problem import Problem
from process import figures_of, peer_of, why_missing
from recorded import read, record

PEERS = ("swnn_ranker", "omikuji_parabel")
PARTS = (8, 4, 2, 1)
"""All training rows, divided by these."""
ASSESS = Path(__file__).resolve().with_name("assess.py")
KEY = ("dataset", "part", "peer")


def subset(problem, part):
    """A problem with one in ``part`` training rows, at random."""
    n_rows = problem.X_train.shape[0]
    order = np.random.default_rng(0).permutation(n_rows)
    rows = np.sort(order[: n_rows // part])
    return Problem(problem.X_train[rows], problem.y_train[rows], problem.X_test, problem.y_test)


def measure(problem, dataset, part, name, arguments):
    """A row of docs/data/growth.json, or why there is none."""
    peer = peer_of(name)
    if reason := why_missing(peer):
        return {"failed": reason}
    some = subset(problem, part)
    with tempfile.TemporaryDirectory(prefix="growth-") as folder:
        some.save(Path(folder) / "problem")
        answers = Path(folder) / "labels.npy"
        options = [name, Path(folder) / "problem", answers, "--queries", 200]
        found = figures_of(peer, ASSESS, options, arguments.cpu_seconds)
        if "failed" in found:
            return found
        precision = some.precision(np.load(answers))
    row = {"dataset": dataset, "part": part, "rows": some.X_train.shape[0]}
    row |= {"peer": name, "title": peer.title, "train_s": round(found["train_s"], 1)}
    return row | {f"P@{k}": round(p, 2) for k, p in zip((1, 3, 5), precision, strict=True)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", nargs="?", default="finna-yso-en", metavar="SET")
    parser.add_argument("--only", nargs="+", choices=PEERS, default=PEERS, metavar="PEER")
    parser.add_argument("--parts", type=int, nargs="+", default=PARTS, help="8: an eighth")
    parser.add_argument("--cpu-seconds", type=int, default=1500, help="limit for a run")
    parser.add_argument("--again", action="store_true", help="measure what was measured before")
    arguments = parser.parse_args()
    known = {tuple(row[name] for name in KEY) for row in read("growth")}
    problem = Problem.load(arguments.dataset)
    for part in arguments.parts:
        for name in arguments.only:
            if (arguments.dataset, part, name) in known and not arguments.again:
                continue
            row = measure(problem, arguments.dataset, part, name, arguments)
            print(f"{arguments.dataset} 1/{part} {name}: {row}", flush=True)
            if "failed" not in row:
                record("growth", [row], KEY)


if __name__ == "__main__":
    main()
