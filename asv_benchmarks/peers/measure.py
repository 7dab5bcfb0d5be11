"""Measure one peer on one data set, in a process of its own; prints the result as JSON.

Times are CPU seconds of the process, all its threads together, best of several rounds.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.metadata
import json
import os
import resource
import time

from problem import Problem

ROUNDS = 3


def resident():
    """Bytes of memory that the process holds."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def best_of(job, rounds=ROUNDS):
    """The answer and the least CPU time of several rounds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        answer = job()
        times.append(time.process_time() - start)
    return answer, min(times)


def warm_up(peer, X, Y, n_answers):
    """Compile what is compiled on first use, so that it does not count as building."""
    if peer.compiles:
        peer.build(X[:100], Y[:100], n_answers)
        peer.ask_one(peer.ready_one(X[:1]))
        peer.ask_many(peer.ready_many(X[:2]))


def measure(peer, problem, n_answers):
    warm_up(peer, problem.X_train, problem.Y_train, n_answers)
    before = resident()
    start = time.process_time()
    peer.build(problem.X_train, problem.Y_train, n_answers)
    result = {"build_s": time.process_time() - start, "memory_mb": (resident() - before) / 1e6}
    n = problem.queries.shape[0]
    single = [peer.ready_one(problem.queries[i : i + 1]) for i in range(n)]
    peer.ask_one(single[0])
    _, seconds = best_of(lambda: [peer.ask_one(query) for query in single])
    result["ms_per_query"] = 1e3 * seconds / n
    many = peer.ready_many(problem.queries)
    (ids, scores), seconds = best_of(lambda: peer.ask_many(many))
    result["queries_per_s"] = n / seconds
    if peer.kind == "retrieval":
        result["recall"] = problem.recall(ids)
        result["precision"] = problem.precision(problem.vote(ids, scores))
    else:
        labels, _ = peer.ask_many(peer.ready_many(problem.X_test))
        result["precision"] = problem.precision(labels)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer")
    parser.add_argument("problem", help="folder of a saved problem")
    parser.add_argument("--queries", type=int, required=True)
    parser.add_argument("--answers", type=int, required=True)
    parser.add_argument("--cpu-seconds", type=int, required=True, help="SIGXCPU afterwards")
    arguments = parser.parse_args()
    limit = arguments.cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10))
    peer = importlib.import_module(f"adapters.{arguments.peer}").Peer()
    problem = Problem.open(arguments.problem, arguments.queries)
    n_answers = arguments.answers if peer.kind == "retrieval" else 5
    result = measure(peer, problem, n_answers)
    result["version"] = importlib.metadata.version(peer.package.replace("_", "-"))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
