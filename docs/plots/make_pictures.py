"""Draw the figures: ``python docs/plots/make_pictures.py FOLDER [NAME ...]``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

NAMES = (
    "neighbours",
    "quality",
    "precision",
    "latency",
    "bounds",
    "leaving",
    "bitslice",
)
ALWAYS = ("latency", "quality")  # a measurement with its date; drawn from a file of figures
HERE = Path(__file__).resolve().parent


def make(folder: Path, names: tuple[str, ...] = NAMES) -> None:
    for name in names:
        importlib.import_module(name).main(folder)


def outdated(folder: Path) -> tuple[str, ...]:
    """Names of figures that are missing, older than their scripts, or always redrawn."""
    return tuple(
        name for name in NAMES if name in ALWAYS or not _is_current(folder / f"{name}.svg", name)
    )


def _is_current(picture: Path, name: str) -> bool:
    scripts = (HERE / f"{name}.py", HERE / "style.py", HERE / "formulas.py")
    return picture.exists() and all(
        picture.stat().st_mtime > script.stat().st_mtime for script in scripts
    )


if __name__ == "__main__":
    make(Path(sys.argv[1]), tuple(sys.argv[2:]) or NAMES)
