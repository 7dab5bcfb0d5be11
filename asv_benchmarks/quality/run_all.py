"""How good are the labels, and what do they cost: `make bench-quality`.

This library as published, with learned weights and with learned ranking, beside trained linear
models. Each runs in a process of its own, one after the other, on one thread. What this checkout
has measured before, as build/quality.json says, is not measured again, so a run can be stopped and
resumed. With --write, the figures go to docs/data/quality.json instead, and to the pages.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from adapters import RANKING
from page import SETS, TITLES, comparison, in_order
from problem import Problem
from process import figures_of, peer_of, why_missing
from report import machine
from results import FILE, Results

from swnn_xp import metrics

HERE = Path(__file__).resolve().parent
RENDER = HERE.parent / "figures" / "render.py"
DOCS = HERE.parents[1] / "docs"
OWN = HERE.parents[1] / "build" / "quality.json"
"""What was measured here, apart from the figures of the repository."""


def saved_problem(dataset, folder):
    """Where a data set lies as files that every peer's environment can read; saved if need be."""
    path = Path(folder) / dataset
    if not path.exists():
        Problem.load(dataset).save(path)
    return path


def scores(y_train, y_test, labels):
    """All metrics in percent."""
    propensity = metrics.propensities(y_train)
    found = {f"P@{k}": metrics.precision_at_k(y_test, labels, k) for k in (1, 3, 5)}
    found["nDCG@5"] = metrics.ndcg_at_k(y_test, labels, 5)
    found["RP@5"] = metrics.r_precision_at_k(y_test, labels, 5)
    found["micro-F1@5"] = metrics.f1_micro_at_k(y_test, labels, 5)
    found |= {f"PSP@{k}": metrics.psp_at_k(y_test, labels, k, propensity) for k in (1, 3, 5)}
    rare = metrics.found_by_count(y_test, labels, y_train.sum(axis=0), 5)
    found["R@5 of labels without rows"] = int(rare.found[0]) / max(1, int(rare.n[0]))
    return {name: round(100 * value, 4) for name, value in found.items()} | {
        "labels without rows": int(rare.n[0])
    }


def run_peer(name, dataset, arguments, folder):
    """The row of a peer and a data set: figures, or why there are none."""
    peer = peer_of(name)
    row = {"dataset": dataset, "peer": name, "title": peer.title, "note": peer.note}
    row |= {"date": datetime.date.today().isoformat(), "machine": machine()}
    if reason := why_missing(peer):
        return row | {"failed": reason}
    try:
        path = saved_problem(dataset, folder)
    except ValueError as error:
        return row | {"failed": str(error)}
    if peer.takes_names and Problem.open(path, None).names is None:
        return row | {"failed": "the labels of this set have no names"}
    answers = Path(folder) / "labels.npy"
    options = [name, path, answers, "--queries", arguments.queries]
    row |= figures_of(peer, HERE / "assess.py", options, arguments.cpu_seconds)
    if "failed" in row:
        return row
    problem = Problem.open(path, None)
    row["test_rows"] = problem.y_test.shape[0]
    return row | scores(problem.y_train, problem.y_test, np.load(answers))


def measure(arguments, results):
    """Run what is missing, one after the other; return its rows, failures too."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="quality-") as folder:
        for dataset in arguments.datasets:
            for name in arguments.only:
                if not arguments.again and results.settled(dataset, name, arguments.cpu_seconds):
                    continue
                row = run_peer(name, dataset, arguments, folder)
                outcome = f"failed: {row['failed']}" if "failed" in row else "done"
                print(f"{dataset} {name}: {outcome}", file=sys.stderr, flush=True)
                if "failed" not in row or "limit_s" in row:  # not what this machine lacks
                    results.put(row)
                rows.append(row)
    return rows


def report(arguments, now, before, kept):
    """What to print: the rows of this run, then which others there are and who measured them."""
    done = [row for row in now if "failed" not in row]
    seen = {(row["dataset"], row["peer"]) for row in done}
    parts = [comparison(in_order(done, SETS, RANKING))] if done else []
    for rows, where in ((before, "measured here before"), (kept, "from the repository")):
        wanted = [
            (row["dataset"], row["peer"])
            for row in rows
            if row["dataset"] in arguments.datasets and row["peer"] in arguments.only
        ]
        others = [key for key in wanted if key not in seen]
        seen.update(others)
        if others:
            listed = ", ".join(f"{dataset} {TITLES[peer]}" for dataset, peer in others)
            parts.append(f"Not measured now, {where}: {listed}.")
    return "\n\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=SETS, metavar="SET", help=" ".join(SETS))
    parser.add_argument("--only", nargs="+", choices=RANKING, default=RANKING, metavar="PEER")
    parser.add_argument("--queries", type=int, default=500, help="rows that are timed")
    parser.add_argument("--cpu-seconds", type=int, default=1500, help="limit for a peer and a set")
    parser.add_argument("--again", action="store_true", help="measure what was measured before")
    parser.add_argument(
        "--write", action="store_true", help="write the repository's figures, tables and picture"
    )
    arguments = parser.parse_args()
    kept, results = Results(FILE), Results(FILE if arguments.write else OWN)
    before = [] if arguments.write else list(results.rows.values())
    now = measure(arguments, results)
    print(report(arguments, now, before, list(kept.rows.values())))
    if all("failed" in row for row in now):
        sys.exit("nothing was measured: " + why_nothing(now, results.path))
    if arguments.write:
        picture = [DOCS / "plots" / "make_pictures.py", DOCS / "pictures", "quality"]
        subprocess.run([sys.executable, RENDER], check=True)
        subprocess.run([sys.executable, *picture], check=True)


def why_nothing(rows, path):
    """Why a run has measured nothing, in a few words."""
    if rows:
        return "each run failed, as said above; docs/method/data.md says where the data is from"
    return f"{path} has all of it already; AGAIN=1 measures it again"


if __name__ == "__main__":
    main()
