"""Every CUDA kernel on the CPU, a thread for each CUDA thread, under sanitizers."""

import os
import shutil
import subprocess
from pathlib import Path

import learn.oracle
import numpy as np
import oracle
import pytest
import scipy.sparse as sp

from swnn_xp.rows.canonical import canonical_rows, label_rows
from swnn_xp.rows.quantise import quantise_rows

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "kernels" / "swnn_kernels" / "cuda"
FLAGS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
}

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


@pytest.fixture(scope="module", params=list(FLAGS))
def program(request, tmp_path_factory):
    built = tmp_path_factory.mktemp("shim") / "run_kernels"
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-sign-compare"]
    command = ["g++", "-std=c++17", "-O1", "-g", "-pthread", *warnings, *FLAGS[request.param]]
    command += [f"-I{SOURCES}", str(HERE / "run_kernels.cpp"), "-o", str(built)]
    subprocess.run(command, check=True)
    return built


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
    """A ranker as `learn.oracle` takes it; the last labels came after its training."""
    rng = np.random.default_rng(seed)
    cuts = [cut for cut in (2, 5) if cut < S] + [S]
    has = rng.random((n_labels - 2, d)) < 0.5
    weights = rng.integers(-(2**15), 2**15, has.sum())
    weights[rng.random(weights.size) < 0.3] = 2**15 - 1
    modelled = (rng.random(n_labels - 2) < 0.7).astype(int)
    n_bins = len(learn.oracle.KNOTS)
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


def run(program, folder, X, Y, Q, S, k, alpha, beta, threads, tile, dead=(), ranker=None):
    rows, queries, labels = (
        quantise_rows(canonical_rows(X)),
        quantise_rows(canonical_rows(Q)),
        label_rows(Y),
    )
    lists = sp.csr_array((rows.quantised, rows.indices, rows.indptr), shape=X.shape).tocsc()
    capacity = max(1, min(Y.shape[1], S * int(np.diff(labels.indptr).max())))
    gone = np.isin(np.arange(len(X)), dead).astype(np.int64) if len(dead) else []
    learned, meta = ranker or a_ranker(0, X.shape[1], Y.shape[1], S, alpha, beta)
    arrays = [
        lists.indptr, lists.indices, lists.data, np.diff(rows.indptr).astype(float),
        queries.indptr, queries.indices, queries.quantised, labels.indptr, labels.indices,
        [S, Y.shape[1], k, capacity, meta["n_candidates"], meta["shift"], X.shape[1]],
        np.asarray([alpha, beta], float), gone, meta["cuts"],
        *(array for name, array in learned.items() if name != "g"),
    ]  # fmt: skip
    with (folder / "in").open("wb") as file:
        for array in map(np.asarray, arrays):
            file.write(np.int64(array.size).tobytes())
            kind = np.float64 if array.dtype == np.float64 and array.size else np.int64
            file.write(array.astype(kind).tobytes())
    command = [program, str(threads), str(tile), "2", folder / "in", folder / "out"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=os.environ | {"TSAN_OPTIONS": "halt_on_error=1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = np.frombuffer((folder / "out").read_bytes(), np.int64)
    sizes = [len(Q) * S] * 2 + [len(Q) * k] * 4
    parts = np.split(found, np.cumsum(sizes)[:-1])
    ids, sims, *best = (part.reshape(len(Q), -1) for part in parts)
    return ids, sims.view(float), best[0], best[1].view(float), best[2], best[3].view(float)


def padded(pairs, places):
    missing = places - len(pairs)
    return [i for i, _ in pairs] + [-1] * missing, [v for _, v in pairs] + [0.0] * missing


CASES = [
    # seed, S, k, alpha, beta, threads, tile
    (0, 4, 3, 1, 1, 32, 8),
    (1, 5, 9, 2, 0, 4, 8192),
    (2, 30, 2, 0, 2, 16, 5),
    (3, 1, 1, 1, 1, 8, 23),
    (4, 11, 7, 1, 1, 64, 16),
]


@pytest.mark.parametrize(("seed", "S", "k", "alpha", "beta", "threads", "tile"), CASES)
def test_kernels_are_exact(program, tmp_path, seed, S, k, alpha, beta, threads, tile):
    X, Y, Q = problem(seed)
    ranker = a_ranker(seed, X.shape[1], Y.shape[1], S, alpha, beta)
    ids, sims, labels, scores, ranked, ranked_scores = run(
        program, tmp_path, X, Y, Q, S, k, alpha, beta, threads, tile, ranker=ranker
    )
    for row, query in enumerate(Q):
        near = [(i, sim) for sim, i in oracle.neighbours(X, query, S, beta)]
        assert (ids[row].tolist(), sims[row].tolist()) == padded(near, S)
        best = oracle.topk(X, Y, query, S, alpha, beta, k)
        assert (labels[row].tolist(), scores[row].tolist()) == padded(best, k)
        expected = learn.oracle.topk(ranker, X, Y, query, k)
        assert (ranked[row].tolist(), ranked_scores[row].tolist()) == expected


def test_removed_rows_are_not_found(program, tmp_path):
    X, Y, Q = problem(1)
    dead = [0, 1, 7]
    ids, *_ = run(program, tmp_path, X, Y, Q, 6, 2, 1, 1, 32, 8, dead)
    X[dead] = 0
    for row, query in enumerate(Q):
        near = [(i, sim) for sim, i in oracle.neighbours(X, query, 6, 1)]
        assert ids[row].tolist() == padded(near, 6)[0]
