"""Every CUDA kernel on the CPU, a thread or a fiber for each CUDA thread: build, run, compare."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import oracle

from swnn_kernels.cuda.tiles import Tiles
from swnn_xp.rows.canonical import canonical_rows, label_rows, quantise_rows

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "kernels" / "swnn_kernels" / "cuda"
FLAGS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread", "-DWARP=2"],  # few threads are several warps
    "fibers": ["-DFIBERS"],  # no sanitizer, and a thousand times faster
}


SMALL = 8, (30, 2, 0, 2, 4, 5)
"""A problem and settings that reach every barrier with few threads."""


PATIENCE = 600  # seconds; a run takes one on an idle machine


TILE_BITS = 3
POOL, FEATURE_SLOTS = 45, 8
"""So small that votes are counted in shared memory and in global memory, and that a query's
features come in several parts."""
POOL_WORDS = 200
LISTED = 1000
"""Rows that the search may list for a query before it gives up."""


class Found(AssertionError):
    """What a sanitizer says, or how an answer differs."""


def build(sanitizer, folder):
    """The program of all kernels."""
    built = folder / f"run_kernels_{sanitizer}"
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-sign-compare"]
    command = ["g++", "-std=c++17", "-O1", "-g", "-pthread", *warnings, *FLAGS[sanitizer]]
    command += [f"-DTILE_BITS={TILE_BITS}", f"-DPOOL={POOL}", f"-DFEATURE_SLOTS={FEATURE_SLOTS}"]
    command += [f"-I{SOURCES}", str(HERE / "run_kernels.cpp"), "-o", str(built)]
    subprocess.run(command, check=True)
    return built


def barriers():
    """Every __syncthreads() of the sources, as file:line."""
    files = sorted([*SOURCES.glob("*.cu"), *SOURCES.glob("*.cuh")])
    return [
        f"{file.name}:{number}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(r"__syncthreads\(\)", line)
    ]


def problem(seed, n=23, d=9, n_labels=7, q=3):
    """Rows full of ties and repeats; every query has another number of features."""
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 0.0, 1.0, 2.0, -1.0], size=(n, d))
    X[rng.integers(n, size=6)] = X[0]
    Q = rng.choice([0.0, 1.0, 2.0], size=(q, d))
    Q[-1] = 0 if seed == 0 else X[0]
    Y = (rng.random((n, n_labels)) < 0.4).astype(int)
    return X, Y, Q


def some_sources(seed, n_labels, n_queries):
    """For each query what sources list, as `oracle.sources_of` gives it; none for some seeds."""
    rng = np.random.default_rng(seed)
    shapes = [(1, 3), (4, 2)][: seed % 3]

    def listed(n_tables, most):
        labels = rng.choice(n_labels, rng.integers(most + 1), replace=False).tolist()
        return n_tables, {label: rng.integers(1, 1281, n_tables).tolist() for label in labels}

    return [[listed(*shape) for shape in shapes] for _ in range(n_queries)], shapes


def side_by_side(sources, shapes):
    """Labels and bins of all sources, as kernels take them."""
    labels, bins = [], []
    for one in sources:
        for (n_tables, listed), (_, most) in zip(one, shapes, strict=True):
            missing = most - len(listed)
            labels += [*listed, *[-1] * missing]
            bins += [*itertools.chain(*listed.values()), *[0] * missing * n_tables]
    return labels, bins


def a_ranker(seed, d, n_labels, S, alpha, beta, n_bins=0):
    """A ranker as `oracle` takes it; the last labels came after its training.

    ``n_bins`` is the number of the sources' tables.
    """
    rng = np.random.default_rng(seed)
    cuts = [cut for cut in (2, 5) if cut < S] + [S]
    has = rng.random((n_labels - 2, d)) < 0.5
    weights = rng.integers(-(2**15), 2**15, has.sum())
    weights[rng.random(weights.size) < 0.3] = 2**15 - 1
    modelled = (rng.random(n_labels - 2) < 0.7).astype(int)
    tables = rng.integers(-3, 3, (2, len(cuts) + n_bins, len(oracle.KNOTS))) * 2**36
    tables[:, len(cuts) :, 0] = 0  # what a source does not list
    arrays = {
        "indptr": np.concatenate([[0], np.cumsum(has.sum(axis=1))]),
        "features": np.nonzero(has)[1],
        "weights": weights,
        "biases": rng.integers(-(2**40), 2**40, n_labels - 2),
        "modelled": modelled,
        "tables": tables.ravel(),
        "g": None,
    }
    meta = {"cuts": cuts, "alpha": alpha, "beta": beta, "shift": seed % 4, "n_candidates": 2 + seed}
    meta["postings"] = 0
    return arrays, meta


def write_arrays(path, arrays):
    """What `run_kernels.cpp` reads."""
    with path.open("wb") as file:
        for array in map(np.asarray, arrays):
            file.write(np.int64(array.size).tobytes())
            kind = np.float64 if array.dtype == np.float64 and array.size else np.int64
            file.write(array.astype(kind).tobytes())


def run(
    program,
    folder,
    problem,
    settings,
    *,
    removed=(),
    listed=LISTED,
    ranker=None,
    sources=((), ()),
    env=None,
    patience=PATIENCE,
):
    """Results of all kernels on a problem (X, Y, Q).

    The settings are S, k, alpha, beta, threads and tile.
    """
    (X, Y, Q), (S, k, alpha, beta, threads, tile) = problem, settings
    rows, queries, labels = (
        quantise_rows(canonical_rows(X)),
        quantise_rows(canonical_rows(Q)),
        label_rows(Y),
    )
    tiles = Tiles.of(np, rows, TILE_BITS)
    flags = np.isin(np.arange(len(X)), removed).astype(np.int64) if len(removed) else []
    learned, meta = ranker or a_ranker(0, X.shape[1], Y.shape[1], S, alpha, beta)
    listed_labels, listed_bins = side_by_side(*sources)
    shapes = [(most, n_tables) for n_tables, most in sources[1]]
    arrays = [
        rows.indptr, rows.indices, rows.quantised, *tiles,
        queries.indptr, queries.indices, queries.quantised, labels.indptr, labels.indices,
        [S, Y.shape[1], k, meta["n_candidates"], meta["shift"], listed, POOL_WORDS, 2],
        np.asarray([alpha, beta], float), flags, meta["cuts"],
        *(array for name, array in learned.items() if name != "g"),
        np.ravel(shapes), queries.quantised, listed_labels, listed_bins,
    ]  # fmt: skip
    write_arrays(folder / "in", arrays)
    command = [program, str(threads), str(threads), str(tile), "2", folder / "in", folder / "out"]
    env = os.environ | {"TSAN_OPTIONS": "halt_on_error=1"} | (env or {})
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=patience)
    except subprocess.TimeoutExpired:  # threads that wait at different barriers
        raise Found(f"no end after {patience} s") from None
    if done.returncode:
        raise Found(f"exit code {done.returncode}: {done.stderr[-3000:]}")
    found = np.frombuffer((folder / "out").read_bytes(), np.int64)
    sizes = [len(Q) * S] * 2 + [len(Q) * k] * 4
    parts = np.split(found, np.cumsum(sizes)[:-1])
    ids, sims, *best = (part.reshape(len(Q), -1) for part in parts)
    return ids, sims.view(float), best[0], best[1].view(float), best[2], best[3].view(float)


def padded(pairs, n_slots):
    n_empty = n_slots - len(pairs)
    return [i for i, _ in pairs] + [-1] * n_empty, [v for _, v in pairs] + [0.0] * n_empty


def check(program, folder, seed, settings, **how):
    """Run a problem and compare with the definitions; `Found` says what is wrong."""
    X, Y, Q = problem(seed)
    S, k, alpha, beta, *_ = settings
    sources = some_sources(seed, Y.shape[1], len(Q))
    n_bins = sum(n_tables for n_tables, _ in sources[1])
    ranker = a_ranker(seed, X.shape[1], Y.shape[1], S, alpha, beta, n_bins)
    ids, sims, labels, scores, ranked, ranked_scores = run(
        program, folder, (X, Y, Q), settings, ranker=ranker, sources=sources, **how
    )
    for row, query in enumerate(Q):
        near = [(i, sim) for sim, i in oracle.neighbours(X, query, S, beta)]
        same((ids[row].tolist(), sims[row].tolist()), padded(near, S))
        best = oracle.topk(X, Y, query, S, alpha, beta, k)
        same((labels[row].tolist(), scores[row].tolist()), padded(best, k))
        expected = oracle.ranked_topk(ranker, X, Y, query, k, sources[0][row])
        same((ranked[row].tolist(), ranked_scores[row].tolist()), expected)


def same(found, expected):
    if found != expected:
        raise Found(f"{found} instead of {expected}")


def found_without(barrier, program, folder, tries=20):
    """What is found when a barrier is left out; "" if nothing is.

    ThreadSanitizer remembers a few accesses of each word only, so one run may miss a race.
    """
    for order in range(1, tries + 1):
        env = {"SHIM_WITHOUT": barrier, "SHIM_SEED": str(order)}
        try:
            check(program, folder, *SMALL, env=env, patience=60)
        except Found as found:
            return str(found)
    return ""
