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


def peak_memory():
    """The most bytes of memory that the process has held, the rows and the interpreter included."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def best_of(job, rounds=ROUNDS, least=0.4):
    """The answer and the least CPU time of several rounds.

    A process with a limit of CPU seconds reads its clock in ticks of some milliseconds, so a round
    repeats the job until it takes ``least`` seconds.
    """
    start = time.process_time()
    answer = job()
    repeats = int(least / max(time.process_time() - start, 1e-3)) + 1
    times = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(repeats):
            answer = job()
        times.append((time.process_time() - start) / repeats)
    return answer, min(times)


def warm_up(peer, X, Y, n_answers):
    """Compile what is compiled on first use, so that it does not count as building."""
    if peer.compiles:
        peer.prepare(X[:100], Y[:100])
        peer.build(X[:100], Y[:100], n_answers)
        peer.ask_one(peer.ready_one(X[:1]))
        peer.ask_many(peer.ready_many(X[:2]))


def timed_build(peer, problem, n_answers):
    """CPU seconds and memory of building; turning rows into the peer's own form does not count."""
    warm_up(peer, problem.X_train, problem.y_train, n_answers)
    peer.prepare(problem.X_train, problem.y_train)
    before = resident()
    start = time.process_time()
    peer.build(problem.X_train, problem.y_train, n_answers)
    return {"build_s": time.process_time() - start, "memory_mb": (resident() - before) / 1e6}


def timed_single(peer, queries):
    """CPU milliseconds per query, one at a time."""
    n = queries.shape[0]
    single = [peer.ready_one(queries[i : i + 1]) for i in range(n)]
    peer.ask_one(single[0])
    _, seconds = best_of(lambda: [peer.ask_one(query) for query in single])
    return 1e3 * seconds / n


def limit_cpu(seconds):
    """Let the process end with SIGXCPU after this many CPU seconds."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 10))


def version_of(peer):
    return importlib.metadata.version(peer.package.replace("_", "-"))


def measure(peer, problem, n_answers):
    result = timed_build(peer, problem, n_answers)
    n = problem.queries.shape[0]
    result["ms_per_query"] = timed_single(peer, problem.queries)
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
    limit_cpu(arguments.cpu_seconds)
    peer = importlib.import_module(f"adapters.{arguments.peer}").Peer()
    problem = Problem.open(arguments.problem, arguments.queries)
    n_answers = arguments.answers if peer.kind == "retrieval" else 5
    result = measure(peer, problem, n_answers)
    result["version"] = version_of(peer)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
