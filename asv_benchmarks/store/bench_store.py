"""The model store: time to open 500 MB, what that reads, and the checksums it could have used.

make bench-store
"""

from __future__ import annotations

import hashlib
import mmap
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from swnn_xp import SWNNClassifier
from swnn_xp.store import open_arrays, save_arrays, verify

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import record


def seconds(job: Callable[[], Any], repeat: int = 5) -> float:
    """Wall time of the best of several runs."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        job()
        times.append(time.perf_counter() - begin)
    return min(times)


def resident() -> int:
    """Bytes of the process's memory, mapped files included."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def classifier(n_rows: int = 800_000, size: int = 60) -> SWNNClassifier:
    """Fit random rows: a feature out of each of 60 ranges, narrow (frequent) to wide (rare)."""
    rng = np.random.default_rng(0)
    cuts = np.round(200_000 ** np.linspace(0, 1, size + 1)).astype(np.int64) + np.arange(size + 1)
    indices = rng.integers(cuts[:-1], cuts[1:], (n_rows, size), dtype=np.int64).astype(np.int32)
    ends = np.arange(n_rows + 1, dtype=np.int64)
    X = sp.csr_array((np.ones(n_rows * size), indices.reshape(-1), ends * size))
    labels = rng.integers(0, 20_000, (n_rows, 12), dtype=np.int32)
    Y = sp.csr_array((np.ones(n_rows * 12, np.int8), labels.reshape(-1), ends * 12))
    return SWNNClassifier(n_neighbors=25).fit(X, Y)


def row(what: str, figure: str, beside: str = "") -> dict[str, str]:
    """A row of docs/data/store.json."""
    return {"what": what, "figure": figure, "beside": beside, "command": "make bench-store"}


def megabytes(before: int) -> str:
    return f"{(resident() - before) / 1e6:.0f} MB resident"


def bench_classifier(folder: str) -> list[dict[str, str]]:
    """Open a classifier, which checks its pointers, and ask it once, which checks a few lists."""
    classifier().save(folder)
    bytes_ = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    print(f"a classifier of {bytes_ / 1e6:.0f} MB, wall seconds and megabytes then resident")
    before = resident()
    clf = SWNNClassifier.load(folder)
    opened, after = megabytes(before), seconds(lambda: SWNNClassifier.load(folder))
    print(f"  open                   {after:8.4f}, {opened}")
    query = sp.csr_array(([1.0, 1.0], [5, 100_000], [0, 2]), shape=(1, clf.n_features_in_))
    neighbours = seconds(lambda: clf.kneighbors(query), 1)
    print(f"  first neighbours       {neighbours:8.4f}, {megabytes(before)}")
    print(f"  neighbours             {seconds(lambda: clf.kneighbors(query)):8.4f}")
    labels = seconds(lambda: clf.predict_topk(query), 1)
    print(f"  first labels           {labels:8.4f}, {megabytes(before)}")
    first = row(
        "its first answer, which checks what it reads",
        f"{neighbours + labels:.2f} s",
        megabytes(before),
    )
    print(f"  check of everything    {seconds(clf.model_.check, 2):8.4f}")
    what = f"open a classifier of {bytes_ / 1e6:.0f} MB, pointers checked"
    return [row(what, f"{1e3 * after:.0f} ms", opened), first]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asked = bench_classifier(folder)
    arrays = {f"part{i}": np.random.default_rng(i).random(6_250_000) for i in range(10)}
    size = sum(array.nbytes for array in arrays.values())
    with tempfile.TemporaryDirectory() as folder:
        print(f"a model of {size / 1e6:.0f} MB in {len(arrays)} arrays, wall seconds")
        saved = seconds(lambda: save_arrays(folder, arrays, {}), 1)
        opened = seconds(lambda: open_arrays(folder))
        verified = seconds(lambda: verify(folder), 2)
        print(f"  save    {saved:8.4f}\n  open    {opened:8.4f}\n  verify  {verified:8.4f}")
    rows = [
        row(f"save {size / 1e6:.0f} MB of arrays, with checksums", f"{saved:.2f} s"),
        row("open them, memory-mapped", f"{1e3 * opened:.0f} ms"),
        row("check every checksum of them", f"{verified:.2f} s"),
    ]
    record("store", rows + asked, ("what",))
    data = next(iter(arrays.values())).tobytes()
    checksums: dict[str, Callable[[bytes], Any]] = {
        "SHA-256": hashlib.sha256,
        "BLAKE2b": hashlib.blake2b,
        "CRC-32": zlib.crc32,
    }
    for name, compute in checksums.items():
        print(f"  {name}  {len(data) / seconds(lambda: compute(data)) / 1e9:.1f} GB/s")  # noqa: B023


if __name__ == "__main__":
    main()
