"""Reading a repository file: this library against scikit-learn, in one run.

    make bench-reading [FILE=train.txt.xz]

Without FILE it takes EURLEX57K from ../shared/data, or else makes a file of that size. CPU seconds,
best of three; both readers get the same plain file from a warm cache.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import random_array
from sklearn.datasets import load_svmlight_file

from swnn_xp.io import iter_xmc, read_xmc, write_xmc
from swnn_xp.io.files import open_input

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import record

EURLEX = Path(__file__).parents[3] / "shared" / "data" / "eurlex57k" / "train.txt.xz"


def seconds(job: Callable[[], Any], repeat: int = 3) -> float:
    """CPU time of the best of several runs."""
    times = []
    for _ in range(repeat):
        begin = time.process_time()
        job()
        times.append(time.process_time() - begin)
    return min(times)


def synthetic(path: Path) -> None:
    rng = np.random.default_rng(0)
    X = random_array(
        (45_000, 46_936), density=120 / 46_936, rng=rng, format="csr", dtype=np.float32
    )
    Y = random_array((45_000, 4_271), density=5 / 4_271, rng=rng, format="csr")
    write_xmc(path, X.round(4), Y)


def drain(path: Path) -> None:
    for _ in iter_xmc(path, engine="fast"):
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description="compare readers")
    parser.add_argument("file", nargs="?", type=Path, default=EURLEX if EURLEX.exists() else None)
    source = parser.parse_args().file
    with tempfile.TemporaryDirectory() as folder:
        plain, bare = Path(folder, "rows.txt"), Path(folder, "bare.txt")
        if source is None:
            synthetic(plain)
        else:
            with open_input(source) as stream, plain.open("wb") as file:
                shutil.copyfileobj(stream, file)
        # scikit-learn reads no header.
        with plain.open("rb") as file, bare.open("wb") as out:
            file.readline()
            shutil.copyfileobj(file, out)
        begin = time.process_time()
        read_xmc(plain, engine="fast")
        first = time.process_time() - begin
        ours = seconds(lambda: read_xmc(plain, engine="fast"))
        blocks = seconds(lambda: drain(plain))
        theirs = seconds(
            lambda: load_svmlight_file(
                str(bare), multilabel=True, zero_based=True, dtype=np.float32
            )
        )
        size = plain.stat().st_size / 1e6
    print(f"{source.parent.name if source else 'synthetic'}: {size:.0f} MB of text, CPU seconds")
    print(f"  read_xmc               {ours:6.2f}   {size / ours:5.0f} MB/s")
    print(f"  read_xmc, first call   {first:6.2f}   (with numba's import, and its cache if filled)")
    print(f"  iter_xmc               {blocks:6.2f}")
    print(f"  load_svmlight_file     {theirs:6.2f}   {theirs / ours:.1f} times read_xmc")
    if source == EURLEX:
        row = {"what": f"read {size:.0f} MB of text (`read_xmc`)", "figure": f"{ours:.2f} s CPU"}
        row |= {"beside": f"scikit-learn's loader: {theirs:.2f} s", "command": "make bench-reading"}
        record("reading", [row], ("command",))


if __name__ == "__main__":
    main()
