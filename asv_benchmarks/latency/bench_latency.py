"""Latency of one query on one thread, as a ratio to the paper's loop in C, in one run.

CPU time of the thread, the best of five rounds for each query. `make bench-latency`, or with names
of data sets (folders under ../shared/data, twins as twin:NAME:SCALE) and `--queries N`. With
WRITE=1 or `--write` the figures go into docs/data and from there to the pages.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from pathlib import Path

import numpy as np
from paper_loop import PaperLoop

from swnn_kernels import HybridIndex, Labels, QuantisedRows, Session, Settings, quantise, rank
from swnn_kernels.records import Cap, rows_to_rescore

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from ranked import report_ranked
from recorded import record

SETS = ("bibtex", "delicious", "citeulike-t", "eurlex57k", "nvd-cpe", "finna-yso-en")
TWINS = ("twin:Wiki10-31K:1", "twin:Amazon-670K:1")
GROWTH = tuple(f"twin:Amazon-670K:{rows / 490_449:.4f}" for rows in (50_000, 100_000, 200_000))
CAPS = (5_000, 2_000, 1_000, 500)
ROUNDS = 5


def load(name):
    from swnn_xp import datasets

    if name.startswith("twin:"):
        _, twin, scale = name.split(":")
        return datasets.make_twin(twin, scale=float(scale), seed=0)
    return datasets.load(name, root=Path(__file__).resolve().parents[3] / "shared" / "data")


def canonical(matrix):
    """Quantised rows of a scipy matrix, and its float64 values."""
    matrix = matrix.copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    indptr = matrix.indptr.astype(np.int64)
    indices = matrix.indices.astype(np.int32)
    values = matrix.data.astype(np.float64)
    return QuantisedRows(
        indptr, indices, quantise(indptr, indices, values), matrix.shape[1]
    ), values


def best_times(n_queries, *answers):
    """Best CPU time of each query in microseconds, for each way to answer.

    The ways take turns round by round: what slows the machine for a while slows them all.
    """
    best = np.full((len(answers), n_queries), np.inf)
    for _ in range(ROUNDS):
        for times, answer in zip(best, answers, strict=True):
            for q in range(n_queries):
                start = time.thread_time_ns()
                answer(q)
                times[q] = min(times[q], time.thread_time_ns() - start)
    return best / 1e3


class Problem:
    """A data set, its index and the queries that are timed."""

    def __init__(self, name, n_queries):
        data = load(name)
        self.name, self.data = name, data
        self.index = HybridIndex.build(canonical(data.X_train)[0])
        self.labels = Labels.prepare(data.y_train.indptr, data.y_train.indices)
        self.test, values = canonical(data.X_test)
        self.truth = data.y_test.tocsr()
        indptr, features, quantised, _ = self.test
        self.n_queries = min(n_queries, self.test.n_rows)
        cuts = [slice(indptr[q], indptr[q + 1]) for q in range(self.n_queries)]
        self.raw = [(features[c].astype(np.int64), values[c]) for c in cuts]
        self.unit = [(features[c], (quantised[c] * 2.0**-23).astype(np.float32)) for c in cuts]
        self.all_raw = [
            (features[a:b].astype(np.int64), values[a:b])
            for a, b in itertools.pairwise(indptr.tolist())
        ]
        counts = np.diff(self.index.postings.indptr)
        self.postings = np.mean([counts[features[c]].sum() for c in cuts])

    def paper(self, n_neighbors, beta):
        loop = PaperLoop(self.index, n_neighbors, beta)
        return lambda q: loop.search(*self.unit[q])

    def session(self, n_neighbors, beta, postings=None, **options):
        settings = Settings(n_neighbors, 1.0, beta)
        if postings is not None:
            counts = np.diff(self.index.postings.indptr)
            options["cap"] = Cap(postings, rows_to_rescore(postings, n_neighbors), counts)
        return Session(self.index, self.labels, settings, **options)

    def compare(self, n_neighbors, beta, **options):
        """Times of the paper's loop and of a session; its postings and rescored rows a query."""
        session = self.session(n_neighbors, beta, **options)
        session.kneighbors_one(*max(self.raw, key=lambda row: row[0].size))  # makes all buffers
        before = counters(session)
        paper, here = best_times(
            self.n_queries,
            self.paper(n_neighbors, beta),
            lambda q: session.kneighbors_one(*self.raw[q]),
        )
        return paper, here, (counters(session) - before) / (ROUNDS * self.n_queries)


def counters(session):
    """Postings read and rows rescored so far; zeros where the exhaustive search answers."""
    prune = session._searcher.prune
    if prune is None:
        return np.zeros(2)
    return np.array([prune.postings_read[0], prune.rows_rescored[0]])


def report(problem):
    """Print and record a line for every setting."""
    index = problem.index
    size = f"{index.nbytes / max(1, index.nnz):.2f} bytes/non-zero"
    print(f"\n{problem.name}: {index.n_rows} rows, {problem.postings:.0f} postings a query, {size}")
    print("  S beta  paper ms  here ms  ratio  postings read   rows rescored  p99/mean")
    rows = []
    for n_neighbors in (25, 75):
        for beta in (1.0, 0.0):
            paper, here, (read, rescored) = problem.compare(n_neighbors, beta)
            rows.append(_figures(problem, n_neighbors, beta, paper, here, read, rescored))
            print(
                f" {n_neighbors:2d} {beta:4.0f} {paper.mean() / 1e3:9.4f} {here.mean() / 1e3:8.4f}"
                f" {paper.mean() / here.mean():6.2f} {read / max(1, problem.postings):14.1%}"
                f" {rescored:15.1f} {np.percentile(here, 99) / here.mean():9.2f}",
                flush=True,
            )
    record("latency", rows, ("dataset", "S", "beta"))


def _figures(problem, n_neighbors, beta, paper, here, read, rescored):
    """A row of docs/data/latency.json."""
    index = problem.index
    return {
        "dataset": problem.name,
        "S": n_neighbors,
        "beta": int(beta),
        "rows": index.n_rows,
        "postings": round(float(problem.postings)),
        "bytes_per_nonzero": round(index.nbytes / max(1, index.nnz), 2),
        "loop_ms": round(paper.mean() / 1e3, 4),
        "ms": round(here.mean() / 1e3, 4),
        "ratio": round(paper.mean() / here.mean(), 2),
        "postings_read": round(float(read) / max(1, problem.postings), 4),
        "rows_rescored": round(float(rescored), 1),
        "p99_over_mean": round(float(np.percentile(here, 99) / here.mean()), 2),
    }


def precision(problem, postings):
    """P@1, 3, 5 over the whole test set in percent."""
    if postings is None:
        labels, _ = rank(problem.index, problem.labels, problem.test, Settings(25, 1.0, 1.0), 5)
    else:
        session = problem.session(25, 1.0, postings=postings)
        labels = np.stack([session.predict_one(*row, 5)[0] for row in problem.all_raw])
    truth = problem.truth
    hits = np.zeros(labels.shape)
    for q in range(labels.shape[0]):
        hits[q] = np.isin(labels[q], truth.indices[truth.indptr[q] : truth.indptr[q + 1]])
    return [100 * hits[:, :k].sum(axis=1).mean() / k for k in (1, 3, 5)]


def report_caps(problem):
    exact = precision(problem, None)
    print(f"\n{problem.name}, S=25, beta=1, exact P@1,3,5 " + " ".join(f"{p:.2f}" for p in exact))
    rows = []
    for postings in (None, *CAPS):
        paper, here, _ = problem.compare(25, 1.0, postings=postings)
        found = exact if postings is None else precision(problem, postings)
        row = {"dataset": problem.name, "postings": postings}
        row |= {"answer_us": round(float(here.mean()), 1)}
        row |= {"ratio": round(paper.mean() / here.mean(), 2)}
        rows.append(row | {f"P@{k}": round(p, 2) for k, p in zip((1, 3, 5), found, strict=True)})
        values = " ".join(f"{p:.2f}" for p in found)
        print(f"  cap {postings}: ratio {row['ratio']:5.1f}, P@1,3,5 {values}")
    record("caps", rows, ("dataset", "postings"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*SETS, *TWINS])
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--only-ranked", action="store_true", help="only the ranked answers")
    parser.add_argument("--only-caps", action="store_true", help="only the capped searches")
    parser.add_argument("--write", action="store_true", help="as WRITE=1: keep the figures")
    arguments = parser.parse_args()
    if arguments.write:
        os.environ["WRITE"] = "1"
    for name in arguments.names:
        problem = Problem(name, arguments.queries)
        if arguments.only_ranked:
            report_ranked(problem, problem.data, best_times)
            continue
        if arguments.only_caps:
            report_caps(problem)
            continue
        report(problem)
        if name == "eurlex57k":
            report_caps(problem)
            report_ranked(problem, problem.data, best_times)
    if arguments.names == [*SETS, *TWINS]:
        grown = [Problem(name, arguments.queries) for name in (*GROWTH, TWINS[1])]
        rows = [problem.index.n_rows for problem in grown]
        times = [problem.compare(25, 1.0)[1].mean() for problem in grown]
        slope = np.polyfit(np.log(rows), np.log(times), 1)[0]
        print(f"\ncost of a query grows as n**{slope:.2f}: ", dict(zip(rows, times, strict=True)))


if __name__ == "__main__":
    main()
