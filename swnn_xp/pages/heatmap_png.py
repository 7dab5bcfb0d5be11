"""Heat maps of a tuning result as a picture, by matplotlib."""

from __future__ import annotations

import os

import numpy as np

from swnn_xp.io.files import open_atomic
from swnn_xp.pages.heatmap import panels, span
from swnn_xp.tuning.records import TuningResult


def write_heatmap_png(result: TuningResult, path: str | os.PathLike[str]) -> None:
    """Draw the heat maps into a PNG file; needs the extra ``plot``."""
    try:
        from matplotlib.figure import Figure  # no pyplot: no window system, no global state
        from matplotlib.patches import Rectangle
    except ImportError as error:
        raise ImportError("a PNG needs matplotlib: pip install 'swnn-xp[plot]'") from error
    shown = panels(result)
    low, high = (100 * end for end in span(result))
    width = sum(1.5 + 0.8 * len(panel.sizes) for panel in shown)
    tallest = max(len(panel.alphas) for panel in shown)
    figure = Figure(figsize=(width, 1.5 + 0.5 * tallest), layout="constrained")
    axes = figure.subplots(1, len(shown), squeeze=False)[0]
    for ax, panel in zip(axes, shown, strict=True):
        scores = 100 * np.asarray(panel.scores, float)  # None becomes NaN and stays white
        ax.imshow(scores, vmin=low, vmax=high, cmap="viridis", aspect="auto")
        ax.set_xticks(range(len(panel.sizes)), map(str, panel.sizes))
        ax.set_yticks(range(len(panel.alphas)), [f"{alpha:g}" for alpha in panel.alphas])
        ax.set(xlabel="S", ylabel="alpha", title=f"{result.metric} in %, beta = {panel.beta:g}")
        for (row, column), score in np.ndenumerate(scores):
            if np.isfinite(score):
                dark = score < (low + high) / 2
                text = f"{score:.2f}"
                ax.text(column, row, text, ha="center", va="center", color="w" if dark else "k")
        S, alpha, beta = result.best.setting
        if beta == panel.beta:
            corner = panel.sizes.index(S) - 0.5, panel.alphas.index(alpha) - 0.5
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="crimson", linewidth=3))
    with open_atomic(path) as file:
        figure.savefig(file, dpi=150, format="png")
