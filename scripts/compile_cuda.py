"""Compile the CUDA sources for all supported architectures and print what each kernel uses.

Needs nvcc on the path, no GPU. Exits 0 with a message where there is none, 1 if a source fails.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from swnn_kernels.cuda import OPTIONS, SOURCES

FOLDER = Path(__file__).parents[1] / "kernels" / "swnn_kernels" / "cuda"
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
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
    print(f"{'kernel':<18}{'arch':<8}{'registers':>10}{'shared':>8}{'stack':>7}{'spills':>8}")
    for name in SOURCES:
        for arch in ARCHITECTURES:
            report = compile_one(nvcc, name, arch)
            if report is None:
                return 1
            for use in USE.finditer(report):
                shared = re.search(r"(\d+) bytes smem", use["rest"])
                print(
                    f"{use['kernel']:<18}{arch:<8}{use['registers']:>10}"
                    f"{shared[1] if shared else '0':>8}{use['stack']:>7}{use['spills']:>8}"
                )
    return 0


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
