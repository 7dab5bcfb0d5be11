"""The model store: time to open 500 MB, and the checksums it could have used.

make bench-store
"""

from __future__ import annotations

import hashlib
import tempfile
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from swnn_xp.store import open_arrays, save_arrays, verify


def seconds(job: Callable[[], Any], repeat: int = 5) -> float:
    """Wall time of the best of several runs."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        job()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    arrays = {f"part{i}": np.random.default_rng(i).random(6_250_000) for i in range(10)}
    size = sum(array.nbytes for array in arrays.values())
    with tempfile.TemporaryDirectory() as folder:
        print(f"a model of {size / 1e6:.0f} MB in {len(arrays)} arrays, wall seconds")
        print(f"  save    {seconds(lambda: save_arrays(folder, arrays, {}), 1):8.4f}")
        print(f"  open    {seconds(lambda: open_arrays(folder)):8.4f}")
        print(f"  verify  {seconds(lambda: verify(folder), 2):8.4f}")
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
