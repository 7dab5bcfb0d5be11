"""Look for races in the CUDA kernels: python -m cuda.races SEED MINUTES.

First each barrier is left out once, which must be noticed. Then random problems run in
random orders of blocks and threads, with delays at barriers, in turn under ThreadSanitizer and
AddressSanitizer, and every answer is compared with the definitions.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import promises
from cuda.shim import LISTED, Found, barriers, build, check, found_without


def leave_out_each(program: Path, folder: Path) -> str:
    """How many barriers were missed when they were left out: by a race, or by wrong results."""
    found = {barrier: found_without(barrier, program, folder) for barrier in barriers()}
    assert all(found.values()), [barrier for barrier, what in found.items() if not what]
    races = sum("data race" in what for what in found.values())
    return f"each of {len(found)} barriers left out is noticed, {races} of them as a race"


def random_settings(rng: np.random.Generator) -> tuple[int, ...]:
    """S, k, alpha, beta, threads and tile."""
    threads = int(rng.choice([1, 2, 4, 8, 16, 32]))
    S, k, tile = (int(rng.integers(1, most)) for most in (40, 12, 30))
    return S, k, int(rng.integers(3)), int(rng.integers(3)), threads, tile


def main() -> None:
    seed, minutes = int(sys.argv[1]), float(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = [build(sanitizer, folder) for sanitizer in ("address", "thread")]
        needed = leave_out_each(programs[-1], folder)
        print(needed, flush=True)
        until, number = time.monotonic() + 60 * minutes, 0
        while time.monotonic() < until:
            rng = np.random.default_rng([seed, number])
            order = {"SHIM_SEED": str(rng.integers(1, 2**31))}
            settings = random_settings(rng)
            try:
                how = {"env": order, "listed": int(rng.choice([6, LISTED]))}
                check(programs[number % 2], folder, int(rng.integers(100)), settings, **how)
            except Found as found:
                sys.exit(f"seed {seed}, run {number}, {settings}, {order}: {found}")
            number += 1
    figure = f"{number:,} random problems and orders: no race, no difference; {needed}"
    print(figure)
    if os.environ.get("WRITE"):
        promises.keep("cuda-races", figure)


if __name__ == "__main__":
    main()
