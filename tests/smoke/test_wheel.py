"""The wheel holds the two packages as they are in the checkout, and nothing else."""

from importlib.metadata import distribution, files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"swnn_xp": ROOT / "swnn_xp", "swnn_kernels": ROOT / "kernels" / "swnn_kernels"}
# Whatever is not Python is listed, so that nothing slips in.
OTHER = {
    "swnn_xp/py.typed",
    "swnn_xp/datasets/debtags/PROVENANCE.md",
    "swnn_xp/datasets/debtags/debtags.npz.xz",
    "swnn_xp/pages/plots.js",
    "swnn_xp/pages/search.js",
    "swnn_xp/pages/style.css",
    "swnn_xp/serve/static/docs.html",
    "swnn_xp/serve/static/docs.js",
    "swnn_xp/serve/static/index.html",
    "swnn_xp/serve/static/page.js",
    "swnn_xp/serve/static/style.css",
    "swnn_kernels/py.typed",
    "swnn_kernels/cuda/search.cu",
    "swnn_kernels/cuda/select.cu",
    "swnn_kernels/cuda/vote.cu",
    "swnn_kernels/cuda/candidates.cu",
    "swnn_kernels/cuda/scores.cu",
    "swnn_kernels/cuda/choose.cuh",
    "swnn_kernels/cuda/power.cuh",
    "swnn_kernels/cuda/exact.cuh",
    "swnn_kernels/cuda/hash.cuh",
    "swnn_kernels/cuda/votes.cuh",
    "swnn_kernels/cuda/warp.cuh",
}
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
INSTALLER = {"INSTALLER", "REQUESTED", "direct_url.json"}  # written by pip


def in_checkout():
    for name, folder in PACKAGES.items():
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield f"{name}/{path.relative_to(folder).as_posix()}"


def test_what_is_not_python_is_listed():
    assert {name for name in in_checkout() if not name.endswith(".py")} == OTHER


def test_the_wheel_is_complete_and_has_nothing_else():
    installed = {str(path) for path in files("swnn-xp")}
    if any(name.endswith(".pth") for name in installed):
        pytest.skip("an editable install has no files: `make smoke` runs this on the wheel")
    about = {name.partition("dist-info/")[2] for name in installed if "dist-info/" in name}
    assert METADATA <= about <= METADATA | INSTALLER
    rest = {name for name in installed if "dist-info/" not in name and "__pycache__" not in name}
    assert rest == {*in_checkout(), "../../../bin/swnn"}


def test_what_it_needs_is_declared():
    needed = {line.split(">=")[0] for line in distribution("swnn-xp").requires if ";" not in line}
    assert needed == {"numpy", "scipy", "array-api-compat", "numba"}
