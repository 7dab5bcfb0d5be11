"""The steps from a file to a measured ranking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch
from style import BLUE, GREY, INK, ORANGE, save

STATIONS = [
    ("read", "text file or\nany matrix", "io", GREY),
    ("quantise", "integer rows\nof unit length", "rows", GREY),
    ("index", "built\nonce", "backends", ORANGE),
    ("top S rows", "J$^β$ · cos,\nties by id", "search", ORANGE),
    ("votes", "Sim$^α$ for each\nof its labels", "vote", ORANGE),
    ("ranking", "best k\nlabels", "classifier", BLUE),
    ("measure", "P@k, nDCG,\nPSP, explain", "metrics, model", BLUE),
]
WIDTH, GAP, TALL = 1.62, 0.36, 1.25


def main(folder: Path) -> None:
    figure, axes = plt.subplots(figsize=(11.5, 2.9))
    axes.axis("off")
    for i, station in enumerate(STATIONS):
        _box(axes, i * (WIDTH + GAP), *station)
        if i:
            x = i * (WIDTH + GAP)
            arrow = {"arrowstyle": "-|>", "color": INK, "lw": 1.3, "shrinkA": 1, "shrinkB": 1}
            axes.annotate("", (x, TALL / 2), (x - GAP, TALL / 2), arrowprops=arrow)
    _brace(axes, 2, 4, "one backend runs these: numba, numpy, cupy, torch, array-api")
    end = len(STATIONS) * (WIDTH + GAP)
    axes.set_xlim(-0.1, end - GAP + 0.1)
    axes.set_ylim(-1.15, TALL + 0.1)
    save(figure, folder, "data_flow")


def _box(axes: Any, x: float, title: str, text: str, module: str, colour: str) -> None:
    shape = FancyBboxPatch(
        (x, 0), WIDTH, TALL, boxstyle="round,pad=0,rounding_size=0.08", fc="white", ec=colour, lw=2
    )
    axes.add_patch(shape)
    middle = x + WIDTH / 2
    axes.text(middle, TALL - 0.24, title, ha="center", va="center", weight="bold", size=11)
    axes.text(middle, 0.45, text, ha="center", va="center", size=9.5)
    axes.text(
        middle, -0.2, module, ha="center", va="center", size=8, color=GREY, family="monospace"
    )


def _brace(axes: Any, first: int, last: int, text: str) -> None:
    start, stop = first * (WIDTH + GAP), last * (WIDTH + GAP) + WIDTH
    axes.plot([start, start, stop, stop], [-0.4, -0.52, -0.52, -0.4], color=ORANGE, lw=1.5)
    axes.text((start + stop) / 2, -0.78, text, ha="center", va="center", size=9.5, color=ORANGE)
