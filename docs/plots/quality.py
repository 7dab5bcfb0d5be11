"""P@1 on EURLEX57K against the time of training and of one answer, beside trained models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from style import BLUE, GREY, save

FIGURES = Path(__file__).resolve().parents[1] / "data" / "quality.json"
DATA_SET = "eurlex57k"
COSTS = {"train_s": "training, CPU seconds", "ms_per_query": "one answer, CPU milliseconds"}
NAMES = {
    "swnn_classifier": "published",
    "swnn_weights": "learned weights",
    "swnn_ranker": "learned ranking",
    "omikuji_parabel": "omikuji",
    "pecos_xr_linear": "PECOS",
    "napkinxc_plt": "napkinXC PLT",
    "napkinxc_br": "napkinXC BR",
    "liblinear_ovr": "LIBLINEAR one-vs-rest",
}


def main(folder: Path) -> None:
    rows = [row for row in json.loads(FIGURES.read_text()) if _is_shown(row)]
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for panel, (cost, title) in zip(panels, COSTS.items(), strict=True):
        _draw(panel, rows, cost)
        panel.set_xscale("log")
        panel.margins(x=0.28, y=0.12)
        panel.xaxis.set_major_formatter("{x:g}")
        panel.set_xlabel(title)
    panels[0].set_ylabel("P@1 on EURLEX57K, %")
    figure.subplots_adjust(wspace=0.06)
    save(figure, folder, "quality")


def _is_shown(row: dict[str, Any]) -> bool:
    return row["dataset"] == DATA_SET and row["peer"] in NAMES and "failed" not in row


def _draw(panel: Any, rows: list[dict[str, Any]], cost: str) -> None:
    """Draw the points; a name stands left of its point where the right is taken."""
    taken: list[tuple[float, float]] = []
    span = max(row["P@1"] for row in rows) - min(row["P@1"] for row in rows)
    for row in sorted(rows, key=lambda row: row[cost]):
        ours = row["peer"].startswith("swnn")
        x, y, colour = row[cost], row["P@1"], BLUE if ours else GREY
        near = any(abs(y - other) < span / 14 and x < 30 * at for at, other in taken)
        panel.plot(x, y, "o" if ours else "s", color=colour, ms=8 if ours else 6)
        panel.annotate(
            NAMES[row["peer"]], (x, y), xytext=(0, -15) if near else (0, 9),
            textcoords="offset points", ha="center", color=colour,
            fontweight="bold" if ours else "normal",
        )  # fmt: skip
        taken.append((x, y))
