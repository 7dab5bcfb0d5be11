"""Compile the CUDA sources for all supported architectures and print what each kernel uses.

Needs nvcc on the path, no GPU. Exits 0 with a message where there is none, 1 if a source fails.
Occupancy is the share of a multiprocessor's threads that run at once. WRITE=1 records the figures.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from swnn_kernels.cuda import OPTIONS, SOURCES

FOLDER = Path(__file__).parents[1] / "kernels" / "swnn_kernels" / "cuda"


class Multiprocessor(NamedTuple):
    """What the blocks of a multiprocessor share, from the CUDA programming guide."""

    threads: int
    shared: int  # bytes
    reserved: int  # bytes of shared memory that each block takes beside its own


ARCHITECTURES = {
    "sm_75": Multiprocessor(1024, 64 << 10, 0),
    "sm_80": Multiprocessor(2048, 164 << 10, 1024),
    "sm_90": Multiprocessor(2048, 228 << 10, 1024),
    "sm_100": Multiprocessor(2048, 228 << 10, 1024),
    "sm_120": Multiprocessor(1536, 100 << 10, 1024),
}
REGISTERS, WARP, ALLOCATED = 65536, 32, 256  # of a multiprocessor; registers come in 256 for a warp
THREADS = {"search": 512}  # of a block, by source; 256 where it is not said
USE = re.compile(
    r"entry function '(?P<kernel>\w+)'.*?(?P<stack>\d+) bytes stack frame, "
    r"(?P<spills>\d+) bytes spill stores.*?Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)


def main() -> int:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        print("CUDA sources were not compiled: nvcc is not on the path")
        return 0
    rows = []
    print(
        f"{'kernel':<18}{'arch':<8}{'registers':>10}{'shared':>8}{'stack':>7}{'spills':>8}"
        f"{'occupancy':>11}"
    )
    for name in SOURCES:
        for arch in ARCHITECTURES:
            report = compile_one(nvcc, name, arch)
            if report is None:
                return 1
            for use in USE.finditer(report):
                row = figures(use, arch, THREADS.get(name, 256))
                print(
                    f"{row['kernel']:<18}{arch:<8}{row['registers']:>10}{row['shared']:>8}"
                    f"{row['stack']:>7}{row['spills']:>8}{row['occupancy']:>11.0%}"
                )
                rows.append(row)
    if os.environ.get("WRITE"):
        sys.path.insert(0, str(Path(__file__).parents[1] / "asv_benchmarks" / "figures"))
        from recorded import record

        record("gpu_kernels", rows, ("kernel", "arch"))
    return 0


def figures(use: re.Match[str], arch: str, threads: int) -> dict[str, Any]:
    """What a kernel uses, and how many of a multiprocessor's threads run at once."""
    shared = re.search(r"(\d+) bytes smem", use["rest"])
    row: dict[str, Any] = {"kernel": use["kernel"], "arch": arch, "threads": threads}
    row |= {name: int(use[name]) for name in ("registers", "stack", "spills")}
    row["shared"] = int(shared[1]) if shared else 0
    has, warps = ARCHITECTURES[arch], threads // WARP
    of_warp = -(-row["registers"] * WARP // ALLOCATED) * ALLOCATED
    blocks = min(
        has.threads // threads,
        REGISTERS // (of_warp * warps),
        has.shared // max(1, row["shared"] + has.reserved),
    )
    return row | {"occupancy": blocks * threads / has.threads}


def compile_one(nvcc: str, name: str, arch: str) -> str | None:
    """Return what ptxas says, or None (and print it) if the source does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        command = [nvcc, *OPTIONS, f"-arch={arch}", "-Xptxas", "-v", "-Werror", "all-warnings"]
        command += ["-cubin", "-o", f"{folder}/out.cubin", str(FOLDER / f"{name}.cu")]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{name}.cu does not compile for {arch}:\n{done.stdout}{done.stderr}")
        return None
    return done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())
