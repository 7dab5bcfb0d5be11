"""What the figures share: colours, sizes, and how they are saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

BLUE, ORANGE, GREEN, RED, GREY = "#1f6fb2", "#d9730d", "#2a8a57", "#b3261e", "#6b7280"
INK, PAPER = "#1b1f24", "#ffffff"

plt.rcParams.update(
    {
        "figure.facecolor": PAPER,
        "axes.facecolor": PAPER,
        "axes.edgecolor": GREY,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#e3e6ea",
        "font.size": 10,
        "text.color": INK,
        "svg.fonttype": "path",  # looks the same on every machine
        "svg.hashsalt": "swnn_xp",  # the same figure gives the same file
    }
)


def save(figure: Any, folder: Path, name: str) -> None:
    """Write the figure as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(
        folder / f"{name}.svg", bbox_inches="tight", pad_inches=0.1, metadata={"Date": None}
    )
    plt.close(figure)
