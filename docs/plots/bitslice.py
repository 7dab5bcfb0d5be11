"""How the overlaps of all rows are counted at once: bitmaps added into bit-sliced counters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle
from style import BLUE, GREEN, GREY, INK, ORANGE, save

BITMAPS = np.array(
    [
        [1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1],
        [0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1],
        [1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1],
        [0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0],
        [1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 1],
    ]
)


def main(folder: Path) -> None:
    counts = BITMAPS.sum(axis=0)
    planes = np.array([(counts >> p) & 1 for p in range(3)])
    figure, axes = plt.subplots(figsize=(10.5, 3.1))
    axes.axis("off")
    _grid(axes, 0, BITMAPS, BLUE, "bitmaps of the query's\nfrequent features", "row →")
    _grid(axes, 18.5, planes[::-1], ORANGE, "bit planes: 4, 2 and 1\nof every row's counter", "")
    _numbers(axes, 37, counts)
    for x in (13.1, 31.6):
        axes.annotate(
            "", (x + 2.6, 2.5), (x, 2.5), arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.5}
        )
    axes.text(14.4, 3.1, "full adders:\n512 rows\nper word", ha="center", size=8.5, color=GREY)
    axes.text(32.9, 3.1, "transpose\n8 × 8 bits", ha="center", size=8.5, color=GREY)
    axes.set_xlim(-0.3, 49.5)
    axes.set_ylim(-0.9, 7)
    axes.set_aspect("equal")
    save(figure, folder, "bitslice")


def _grid(axes: Any, left: float, bits: Any, colour: str, title: str, below: str) -> None:
    height, width = bits.shape
    base = (5 - height) / 2
    for i in range(height):
        for j in range(width):
            fill = colour if bits[i, j] else "white"
            place = (left + j, base + height - 1 - i)
            axes.add_patch(Rectangle(place, 0.9, 0.9, fc=fill, ec=colour, lw=0.8))
    axes.text(left, 5.3, title, size=9.5, va="bottom", color=colour, weight="bold")
    axes.text(left, base - 0.7, below, size=8.5, color=GREY)


def _numbers(axes: Any, left: float, counts: Any) -> None:
    for j, count in enumerate(counts):
        axes.add_patch(Rectangle((left + j, 2.05), 0.9, 0.9, fc="white", ec=GREEN, lw=1))
        axes.text(left + j + 0.45, 2.48, str(count), ha="center", va="center", size=9)
    axes.text(left, 5.3, "overlap of every row,\none byte each", size=9.5, va="bottom", color=GREEN,
              weight="bold")  # fmt: skip
