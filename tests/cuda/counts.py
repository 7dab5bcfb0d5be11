"""Count what the CUDA kernels do to memory on real rows: python -m cuda.counts [SET ...].

The kernels run in the host shim, as they would for a batch of 4,096 queries, of which a sample
is asked; every answer is compared with that of the numba kernels. A classifier (S = 25, beta = 1)
counts search and votes, a ranker its search, candidates and scores. Rankers are trained once
and kept in build/cuda-counts, which may be deleted. The exit code is 1 if a search takes more than
its budget.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from cuda.shim import HERE, SOURCES, write_arrays

from swnn_kernels.cuda import OPTIONS, Tiles, most_listed, pool_words
from swnn_xp import SWNNClassifier, SWNNRanker, load, read_xmc
from swnn_xp.backends import Options
from swnn_xp.rows.records import longest_row

ROOT = HERE.parents[1]
DATA, KEPT = ROOT.parent / "shared" / "data", ROOT / "build" / "cuda-counts"
SETS = "eurlex57k", "nvd-cpe", "finna-yso-en", "citeulike-t"
BATCH, SAMPLE, K, TURNS = 4096, 256, 5, 5
SEARCH_THREADS, THREADS, TILE = 512, 256, 8192  # as in swnn_xp/backends/cupy_kernels.py
POOL_MEMORY = 10**9 // 2
SECTOR = 32  # bytes
MOST_ATOMICS, BYTES_OF_POSTING, BYTES_OF_QUERY = 1000, 5, 64 << 10  # the budget of a search
COUNTS = (
    "launches",
    "bytes_read",
    "bytes_written",
    "sectors",
    "global_atomics",
    "shared_accesses",
    "shared_atomics",
    "wide_shared_atomics",
)


def build(folder: Path) -> Path:
    """The program of all kernels, which calls `count_accesses.cpp` in place of the sanitizer."""
    folder.mkdir(parents=True, exist_ok=True)
    flags = ["-std=c++17", "-O2", "-pthread", f"-I{SOURCES}"]
    defined = [option for option in OPTIONS if option.startswith("-D")]
    kernels, counter, program = folder / "kernels.o", folder / "counter.o", folder / "count"
    fibers = ["-DFIBERS", "-DCOUNTS", "-fsanitize=thread", *defined]
    commands = [
        [*flags, *fibers, "-c", HERE / "run_kernels.cpp", "-o", kernels],
        [*flags, "-c", HERE / "count_accesses.cpp", "-o", counter],
        ["-pthread", kernels, counter, "-o", program],
    ]
    for command in commands:
        subprocess.run(["g++", *map(str, command)], check=True)
    return program


def model_of(name, kind):
    """A fitted estimator of this kind, and the sample of test rows."""
    X, Y = read_xmc(DATA / name / "train.txt.xz")
    Q, _ = read_xmc(DATA / name / "test.txt.xz")
    Q = Q[np.linspace(0, Q.shape[0] - 1, min(SAMPLE, Q.shape[0])).astype(int)]
    if kind == "classifier":
        return SWNNClassifier(25, beta=1, backend="numba").fit(X, Y), Q
    kept = KEPT / name
    if not kept.exists():
        SWNNRanker(backend="numba").fit(X, Y).save(kept)
    return load(kept), Q


def count(program, clf, Q):
    """Counts of every stage, for each query of the sample."""
    model = clf.model_
    (index,), queries, labels = model.segments, model.queries(Q), model.checked_labels
    settings, rows, n_queries = model.ranking.settings, index.rows(), Q.shape[0]
    S = min(settings.n_neighbors, rows.n_rows)
    tiles = Tiles.of(np, rows)
    ranges, most = tiles.ranges(BATCH), longest_row(labels)
    learned = [np.zeros(0, np.int64)] * 11
    n_cuts, n_listed, n_candidates, shift, evidence = 1, 0, 0, 0, []
    if isinstance(clf, SWNNRanker):
        ranking, selection = model.ranking, model.ranking.selection
        evidence = [source.find(model, queries, Options()) for source in ranking.sources]
        shapes = [(source.n_listed, len(source.tables)) for source in selection.sources]
        listed, bins = (
            np.concatenate(
                [np.zeros((n_queries, 0)), *(one[at].reshape(n_queries, -1) for one in evidence)],
                axis=1,
            ).astype(np.int64)
            for at in (0, 1)
        )
        learned = [selection.cuts, *ranking.checked_ranker[:6], np.ravel(shapes)]
        learned += [queries.unscaled.quantised, listed, bins]
        n_cuts, n_listed = len(selection.cuts), listed.shape[1]
        n_candidates, shift = selection.n_candidates, ranking.checked_ranker.shift
    words = pool_words(min(labels.n_labels, S * most) + n_listed, n_cuts)
    pools = max(1, min(n_queries, POOL_MEMORY // (8 * words))) if words else n_queries
    asked = queries.scaled
    numbers = [S, labels.n_labels, K, n_candidates, shift, most_listed(ranges, S), words, pools]
    arrays = [
        rows.indptr, rows.indices, rows.quantised, *tiles,
        asked.indptr, asked.indices, asked.quantised, labels.indptr, labels.indices,
        numbers, np.asarray([settings.alpha, settings.beta], float), [], *learned,
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        given, answered = Path(folder) / "in", Path(folder) / "out"
        write_arrays(given, arrays)
        sizes = map(str, (THREADS, SEARCH_THREADS, TILE, ranges))
        done = subprocess.run([program, *sizes, given, answered], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the kernels failed ({done.returncode}): {done.stderr}")
        found = np.frombuffer(answered.read_bytes(), np.int64)
    check(clf, Q, S, found)
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    common = {
        "rows": rows.n_rows,
        "cpu_us": cpu_time(clf, asked, queries, evidence),
        "queries": n_queries,
        "neighbours": S,
        "ranges": ranges,
        "postings": postings_of(rows, asked),
        "fallbacks": int(lines.pop("left")),
    }
    return {stage: common | per_query(line, n_queries) for stage, line in lines.items()}


def per_query(line, n_queries):
    """Counts of a stage; launches are those of a batch."""
    counts = dict(zip(COUNTS, map(int, line.split()), strict=True))
    return {
        name: value if name == "launches" else round(value / n_queries, 1)
        for name, value in counts.items()
    }


def cpu_time(clf, asked, queries, evidence):
    """Microseconds of one core for a query of a batch, by the numba kernels: best of some turns.

    For what is counted: search and votes, or search, candidates and scores.
    """
    model, options, best = clf.model_, Options(), np.inf
    (index,), labels, ranking = model.segments, model.placed_labels, model.ranking
    settings = ranking.settings
    for _ in range(TURNS):
        started = time.process_time()
        found = model.search(asked, min(settings.n_neighbors, index.n_rows), settings.beta, options)
        if isinstance(clf, SWNNRanker):
            index.rank_candidates(found, labels, queries.unscaled, ranking, evidence, K, options)
        else:
            index.rank_found(found, labels, settings.alpha, K, options)
        best = min(best, time.process_time() - started)
    return round(1e6 * best / asked.n_rows, 1)


def postings_of(rows, queries):
    """Postings of a query's features, on average."""
    sizes = np.bincount(rows.indices, minlength=rows.n_features)
    return round(float(sizes[queries.indices].sum()) / queries.n_rows, 1)


def check(clf, Q, S, found):
    """Compare answers with the numba kernels'."""
    n = Q.shape[0]
    parts = np.split(found, np.cumsum([n * S, n * S, n * K, n * K, n * K]))
    near, best = clf.kneighbors(Q, n_neighbors=S), clf.predict_topk(Q, k=K)
    first = 4 if isinstance(clf, SWNNRanker) else 2
    pairs = [(parts[0], near.ids), (parts[1].view(float), near.similarities)]
    pairs += [(parts[first], best.labels), (parts[first + 1].view(float), best.scores)]
    for mine, theirs in pairs:
        np.testing.assert_array_equal(mine, theirs.ravel())


def missed(row):
    """What a search takes beyond its budget, in words; "" if it keeps it."""
    if (row["kind"], row["stage"]) != ("classifier", "search"):
        return ""
    atomics, traffic = row["global_atomics"], SECTOR * row["sectors"]
    allowed = MOST_ATOMICS, BYTES_OF_POSTING * row["postings"] + BYTES_OF_QUERY
    wrong = [
        f"{found:,.0f} {what}, {most:,.0f} allowed"
        for found, what, most in zip((atomics, traffic), ("atomics", "bytes"), allowed, strict=True)
        if found > most
    ]
    return "; ".join(wrong)


STAGES = {"classifier": ("search", "exhaustive", "votes")}
STAGES["ranker"] = ("search", "exhaustive", "candidates", "scores")


def main() -> int:
    names = sys.argv[1:] or SETS
    missing = [name for name in names if not (DATA / name).is_dir()]
    if missing:
        print(f"left out: there is no {DATA / missing[0]}")
        return 0
    program, rows = build(KEPT), []
    shown = COUNTS[1:]
    print("a query, on average" + " " * 37 + "".join(f"{name:>20}" for name in shown))
    for name in names:
        for kind, stages in STAGES.items():
            clf, Q = model_of(name, kind)
            counts = count(program, clf, Q)
            for stage in stages:
                row = {"dataset": name, "kind": kind, "stage": stage} | counts[stage]
                rows.append(row)
                said = f"{name:<14}{kind:<12}{stage:<12}S={row['neighbours']:<5}"
                said += f"left={row['fallbacks']:<6}"
                print(said + "".join(f"{row[each]:>20,.1f}" for each in shown), flush=True)
    if path := os.environ.get("JSON"):
        Path(path).write_text(json.dumps(rows, indent=1) + "\n")
    if os.environ.get("WRITE"):
        sys.path.insert(0, str(ROOT / "asv_benchmarks" / "figures"))
        from recorded import record

        record("gpu_counts", rows, ("dataset", "kind", "stage"))
    over = {row["dataset"]: missed(row) for row in rows if missed(row)}
    for name, what in over.items():
        print(f"{name}: the search takes {what}")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
