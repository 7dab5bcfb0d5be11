"""Measure this library beside what one would use instead: `make bench-peers`.

Each peer runs in a process of its own, one after the other, on one thread. Prints Markdown tables;
with WRITE=1 the figures go to docs/data/peers.json and from there to the pages.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from adapters import ALL
from problem import Problem
from process import figures_of, peer_of, why_missing
from report import heading, record, table

HERE = Path(__file__).resolve().parent


def saved_problem(dataset, folder):
    """Where a data set lies as files that every peer's environment can read; saved if need be."""
    path = Path(folder) / dataset
    if not path.exists():
        Problem.load(dataset).save(path)
    return path


def run_peer(name, dataset, arguments, folder):
    """The measured figures of a peer, or {"failed": why}; data sets are kept in ``folder``."""
    peer = peer_of(name)
    facts = {"peer": name, "dataset": dataset, "title": peer.title, "kind": peer.kind}
    facts |= {"exact": peer.exact, "note": peer.note}
    if reason := why_missing(peer):
        return facts | {"failed": reason}
    try:
        path = saved_problem(dataset, folder)
    except ValueError as error:
        return facts | {"failed": str(error)}
    options = [name, path, "--queries", arguments.queries, "--answers", arguments.answers]
    return facts | figures_of(peer, HERE / "measure.py", options, arguments.cpu_seconds)


def measured(arguments):
    """Measure all peers on all data sets, one after the other."""
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        for dataset in arguments.datasets:
            for name in arguments.only:
                result = run_peer(name, dataset, arguments, folder)
                outcome = result.get("failed", "done")
                print(f"{dataset} {name}: {outcome}", file=sys.stderr, flush=True)
                yield result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=["eurlex57k", "citeulike-t", "bibtex"])
    parser.add_argument("--only", nargs="+", choices=ALL, default=ALL, metavar="PEER")
    parser.add_argument("--queries", type=int, default=500, help="rows that are timed")
    parser.add_argument("--answers", type=int, default=50, help="neighbours to retrieve")
    parser.add_argument("--cpu-seconds", type=int, default=600, help="limit for a peer and a set")
    arguments = parser.parse_args()
    results = []
    for result in measured(arguments):
        results.append(result)
        if result["kind"] == "retrieval":
            record("peers", [result], ("peer", "dataset"))
    results.sort(key=lambda result: ALL.index(result["peer"]))
    print(heading(arguments))
    for dataset in dict.fromkeys(result["dataset"] for result in results):
        for kind in ("retrieval", "classifier"):
            rows = [r for r in results if r["dataset"] == dataset and r["kind"] == kind]
            print(f"\n{dataset}, {kind}\n\n{table(rows)}")


if __name__ == "__main__":
    main()
