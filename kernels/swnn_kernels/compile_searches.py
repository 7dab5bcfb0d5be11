"""A program: compile the searches, as `background` asks for it, and keep them on disk.

Processes that start at the same time ask at the same time: one compiles, the others wait for it
before they have imported anything large, and then find the code on the disk.
"""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path


def main(folder: str) -> None:
    """Compile, unless another process has done so since; ``folder`` is where the code is kept."""
    os.nice(5)
    Path(folder).mkdir(parents=True, exist_ok=True)
    with open(Path(folder) / "searches.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        from swnn_kernels.warming import warm_searches

        warm_searches()


if __name__ == "__main__":
    main(sys.argv[1])
