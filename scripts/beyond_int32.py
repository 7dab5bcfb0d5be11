"""Index, save, open and ask a training set of more than 2**31 non-zeros: make beyond-int32.

The rows repeat: one file is mapped again and again at consecutive addresses, so that the input of
17 GB takes the memory of one block. The last block is another file, with rows of its own, whose
entries lie beyond the 2**31st. So the right neighbours are known: copies of a row tie, and the
smallest ids come first; a row of the last block is found there and nowhere else.

It needs 16 GB of memory and as much room on the disk.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import promises

from swnn_kernels import HybridIndex, QuantisedRows, quantise, search
from swnn_xp import SWNNClassifier
from swnn_xp.store import save_arrays

BLOCK = 1 << 16  # rows
SIZE = 208  # non-zeros of a row
WIDTH = 256  # features
REPEATS = 2**31 // (BLOCK * SIZE) + 1


def block(seed: int) -> np.ndarray:
    """Features of one block's rows, ascending."""
    rng = np.random.default_rng(seed)
    chosen = np.argpartition(rng.random((BLOCK, WIDTH), dtype=np.float32), SIZE, axis=1)
    return np.sort(chosen[:, :SIZE], axis=1).astype(np.int32)


def repeated(folder: Path, name: str, often: np.ndarray, last: np.ndarray) -> np.ndarray:
    """One array of many copies of ``often`` and then ``last``, in the memory of two blocks."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    total = often.nbytes * REPEATS + last.nbytes
    base = libc.mmap(None, total, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    for number in range(REPEATS + 1):
        path = folder / f"{name}-{number == REPEATS}"
        if number in (0, REPEATS):
            (last if number else often).tofile(path)
        with path.open("rb") as file:
            at, fixed = base + number * often.nbytes, mmap.MAP_PRIVATE | 0x10  # MAP_FIXED
            found = libc.mmap(at, often.nbytes, mmap.PROT_READ, fixed, file.fileno(), 0)
        assert found == at
    return np.ctypeslib.as_array((ctypes.c_int32 * (total // 4)).from_address(base))


shown: list[str] = []
"""Time and memory of each step."""


@contextmanager
def watched(what: str) -> Iterator[None]:
    """Print the time of a step and the peak of the memory that is the process's own."""
    peak, done = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.05):
            status = Path("/proc/self/status").read_text()
            peak = max(peak, int(status.split("RssAnon:")[1].split()[0]))

    thread = threading.Thread(target=watch)
    thread.start()
    start = time.process_time()
    yield
    spent = time.process_time() - start
    done.set()
    thread.join()
    shown.append(f"{what} {spent:.1f} s CPU, {peak / 1e6:.1f} GB")
    print(shown[-1], flush=True)


def check(found: tuple[np.ndarray, np.ndarray], rows: list[int], n_neighbors: int) -> None:
    """Rows of the repeated blocks have their copies as neighbours, the others themselves."""
    ids, sims = found
    for place, row in enumerate(rows):
        if row < BLOCK * REPEATS:
            copies = row % BLOCK + BLOCK * np.arange(n_neighbors)
            assert ids[place].tolist() == copies.tolist(), (row, ids[place])
            assert np.all(sims[place] == sims[place, 0])
        else:
            assert ids[place, 0] == row, (row, ids[place])
            assert sims[place, 0] > sims[place, 1]


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as name:
        folder = Path(name)
        often, last = block(0), block(1)
        rng = np.random.default_rng(2)
        pointers = np.arange(BLOCK + 1, dtype=np.int64) * SIZE
        quantised = [
            quantise(pointers, part.reshape(-1), rng.random(part.size)).reshape(part.shape)
            for part in (often, last)
        ]
        n_rows = BLOCK * (REPEATS + 1)
        indptr = np.arange(n_rows + 1, dtype=np.int64) * SIZE
        indices = repeated(folder, "indices", often, last)
        values = repeated(folder, "quantised", *quantised)
        print(f"{n_rows:,} rows, {indices.size:,} non-zeros, 2**31 = {2**31:,}")
        with watched("build"):
            index = HybridIndex.build(QuantisedRows(indptr, indices, values, WIDTH))
        n_forward = index.stored.forward_hi.size
        print(f"index of {index.nbytes / 1e9:.1f} GB, {n_forward:,} forward entries")
        rows = [0, 5, BLOCK - 1, n_rows - 1, n_rows - BLOCK, n_rows - 77]
        starts = np.array(rows)[:, None] * SIZE + np.arange(SIZE)
        pointers = np.arange(len(rows) + 1) * SIZE
        queries = QuantisedRows(pointers, indices[starts].ravel(), values[starts].ravel(), WIDTH)
        for beta in (0.0, 1.0):
            with watched(f"search, beta {beta:g}"):
                check(search(index, queries, 25, beta), rows, 25)
        labels = (np.arange(n_rows) % 1000).astype(np.int32)
        arrays = {f"index_{name}": array for name, array in index.arrays().items()}
        arrays |= {"labels_indptr": np.arange(n_rows + 1), "labels_indices": labels}
        meta = {
            "kind": "swnn-classifier", "index": "numba", "next_id": n_rows, "n_features": WIDTH,
            "n_labels": 1000, "params": {"n_neighbors": 25, "alpha": 1.0, "beta": 1.0},
        }  # fmt: skip
        with watched("save"):
            save_arrays(folder / "model", arrays, meta)
        del index, arrays
        with watched("open"):
            clf = SWNNClassifier.load(folder / "model")
        dense = np.zeros((len(rows), WIDTH))
        for place, row in enumerate(rows):
            dense[place, indices[row * SIZE : (row + 1) * SIZE]] = values[
                row * SIZE : (row + 1) * SIZE
            ]
        with watched("ask the opened model"):
            near = clf.kneighbors(dense)
            check((near.ids, near.similarities), rows, 25)
            ranked = clf.predict_topk(dense, k=1).labels[:, 0]
        assert ranked[3:].tolist() != [-1] * 3
    print("every answer is right")
    if os.environ.get("WRITE"):
        promises.keep("beyond-int32", f"{indices.size:,} non-zeros: {'; '.join(shown)}")


if __name__ == "__main__":
    main()
