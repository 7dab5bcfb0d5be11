"""Every CUDA kernel on the CPU, a thread or a fiber for each CUDA thread: build, run, compare."""

from __future__ import annotations

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
    "thread": ["-fsanitize=thread"],
    "fibers": ["-DFIBERS"],  # no sanitizer, and a thousand times faster
}


SMALL = 2, (30, 2, 0, 2, 4, 5)
"""A problem and settings that reach every barrier with few threads."""


PATIENCE = 600  # seconds; a run takes one on an idle machine


TILE_BITS = 3
LISTED = 1000
"""Rows that the search may list for a query before it gives up."""


class Found(AssertionError):
    """What a sanitizer says, or how an answer differs."""


def build(sanitizer, folder):
    """The program of all kernels."""
    built = folder / f"run_kernels_{sanitizer}"
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-sign-compare"]
    command = ["g++", "-std=c++17", "-O1", "-g", "-pthread", *warnings, *FLAGS[sanitizer]]
    command += [f"-DTILE_BITS={TILE_BITS}"]
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


def a_ranker(seed, d, n_labels, S, alpha, beta):
    """A ranker as `oracle` takes it; the last labels came after its training."""
    rng = np.random.default_rng(seed)
    cuts = [cut for cut in (2, 5) if cut < S] + [S]
    has = rng.random((n_labels - 2, d)) < 0.5
    weights = rng.integers(-(2**15), 2**15, has.sum())
    weights[rng.random(weights.size) < 0.3] = 2**15 - 1
    modelled = (rng.random(n_labels - 2) < 0.7).astype(int)
    n_bins = len(oracle.KNOTS)
    arrays = {
        "indptr": np.concatenate([[0], np.cumsum(has.sum(axis=1))]),
        "features": np.nonzero(has)[1],
        "weights": weights,
        "biases": rng.integers(-(2**40), 2**40, n_labels - 2),
        "modelled": modelled,
        "tables": rng.integers(-3, 3, 2 * len(cuts) * n_bins) * 2**36,
        "g": None,
    }
    meta = {"cuts": cuts, "alpha": alpha, "beta": beta, "shift": seed % 4, "n_candidates": 2 + seed}
    return arrays, meta


def run(
    program,
    folder,
    problem,
    settings,
    *,
    removed=(),
    listed=LISTED,
    ranker=None,
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
    capacity = max(1, min(Y.shape[1], S * int(np.diff(labels.indptr).max())))
    flags = np.isin(np.arange(len(X)), removed).astype(np.int64) if len(removed) else []
    learned, meta = ranker or a_ranker(0, X.shape[1], Y.shape[1], S, alpha, beta)
    arrays = [
        rows.indptr, rows.indices, rows.quantised, *tiles,
        queries.indptr, queries.indices, queries.quantised, labels.indptr, labels.indices,
        [S, Y.shape[1], k, capacity, meta["n_candidates"], meta["shift"], X.shape[1], listed],
        np.asarray([alpha, beta], float), flags, meta["cuts"],
        *(array for name, array in learned.items() if name != "g"),
    ]  # fmt: skip
    with (folder / "in").open("wb") as file:
        for array in map(np.asarray, arrays):
            file.write(np.int64(array.size).tobytes())
            kind = np.float64 if array.dtype == np.float64 and array.size else np.int64
            file.write(array.astype(kind).tobytes())
    command = [program, str(threads), str(tile), "2", folder / "in", folder / "out"]
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
    ranker = a_ranker(seed, X.shape[1], Y.shape[1], S, alpha, beta)
    ids, sims, labels, scores, ranked, ranked_scores = run(
        program, folder, (X, Y, Q), settings, ranker=ranker, **how
    )
    for row, query in enumerate(Q):
        near = [(i, sim) for sim, i in oracle.neighbours(X, query, S, beta)]
        same((ids[row].tolist(), sims[row].tolist()), padded(near, S))
        best = oracle.topk(X, Y, query, S, alpha, beta, k)
        same((labels[row].tolist(), scores[row].tolist()), padded(best, k))
        expected = oracle.ranked_topk(ranker, X, Y, query, k)
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
