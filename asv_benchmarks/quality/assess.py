"""Train one peer on one data set, in a process of its own; prints costs as JSON.

The five best labels of every test row go to a file: the environment of the peer may lack this
library, so whoever started the process computes the metrics.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from adapters.base import TooSlow
from measure import limit_cpu, peak_memory, timed_build, timed_single, version_of
from problem import Problem
from process import peer_of

K = 5


def size_on_disk(peer):
    """Bytes of the files that the peer writes for its model."""
    with tempfile.TemporaryDirectory() as folder:
        peer.save(Path(folder))
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def assess(peer, problem):
    """What a peer costs, and the best labels of every test row."""
    peer.names = problem.names
    costs = {"train_s": timed_build(peer, problem, K)["build_s"], "peak_mb": peak_memory() / 1e6}
    costs["ms_per_query"] = timed_single(peer, problem.queries)
    costs["model_mb"] = size_on_disk(peer) / 1e6
    labels, _ = peer.ask_many(peer.ready_many(problem.X_test))
    if getattr(peer, "calibration_error", None):
        costs["ECE"] = round(100 * peer.calibration_error(problem.X_test, problem.y_test), 2)
    return costs, labels


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer")
    parser.add_argument("problem", help="folder of a saved problem")
    parser.add_argument("labels", help="file to write")
    parser.add_argument("--queries", type=int, required=True, help="rows that are timed")
    parser.add_argument("--cpu-seconds", type=int, required=True, help="SIGXCPU afterwards")
    arguments = parser.parse_args()
    limit_cpu(arguments.cpu_seconds)
    peer = peer_of(arguments.peer)
    try:
        costs, labels = assess(peer, Problem.open(arguments.problem, arguments.queries))
    except TooSlow as reason:
        print(json.dumps({"failed": str(reason), "limit_s": arguments.cpu_seconds}))
        return
    np.save(arguments.labels, labels)
    print(json.dumps(costs | {"version": version_of(peer)}))


if __name__ == "__main__":
    main()
