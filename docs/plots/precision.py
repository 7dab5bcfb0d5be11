"""P@1, P@3 and P@5 on debtags against S, one line per (alpha, beta) of the paper's protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from style import BLUE, GREEN, GREY, ORANGE, RED, save

from swnn_xp import SWNNClassifier, datasets
from swnn_xp.metrics import precision_at_k
from swnn_xp.results import Neighbours
from swnn_xp.vote import rank, vote

SIZES = (1, 2, 4, 8, 15, 25, 50, 75, 100)
PAIRS = {
    (0, 0): (GREY, ":"),
    (0.5, 0): (RED, "--"),
    (1, 0): (ORANGE, "--"),
    (2, 0): (GREEN, "--"),
    (1, 1): (BLUE, "-"),
    (2, 1): (GREEN, "-"),
}
KS = (1, 3, 5)


def main(folder: Path) -> None:
    data = datasets.load("debtags")
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6))
    for beta in (0, 1):
        # Neighbours depend only on beta: search once for the largest S, then vote many times.
        clf = SWNNClassifier(max(SIZES), beta=beta).fit(data.X_train, data.y_train)
        found = clf.kneighbors(data.X_test)
        for alpha in [pair[0] for pair in PAIRS if pair[1] == beta]:
            measured = [
                _measure(found, clf.model_.labels, alpha, size, data.y_test) for size in SIZES
            ]
            for panel, k in zip(panels, KS, strict=True):
                colour, style = PAIRS[alpha, beta]
                panel.plot(
                    SIZES, [m[k] for m in measured], style, color=colour, marker="o", ms=3,
                    label=f"α = {alpha:g}, β = {beta:g}",
                )  # fmt: skip
    for panel, k in zip(panels, KS, strict=True):
        panel.set_xscale("log")
        panel.set_xticks([1, 4, 25, 100], ["1", "4", "25", "100"])
        panel.minorticks_off()
        panel.set_xlabel("S, number of neighbours")
        panel.set_title(f"P@{k}, %")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="lower center", ncols=6, frameon=False
    )
    figure.subplots_adjust(bottom=0.26, wspace=0.2)
    save(figure, folder, "precision")


def _measure(found: Neighbours, labels: Any, alpha: float, size: int, truth: Any) -> dict:
    first = Neighbours(found.similarities[:, :size], found.ids[:, :size])
    ranked = rank(vote(first, labels, float(alpha)), max(KS)).labels
    return {k: 100 * precision_at_k(truth, ranked, k) for k in KS}
