"""P@1 on EURLEX57K against the time of training and of one answer, beside trained models."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.transforms import Bbox
from style import BLUE, GREY, save

FIGURES = Path(__file__).resolve().parents[1] / "data" / "quality.json"
DATA_SET = "eurlex57k"
COSTS = {"train_s": "training, CPU seconds", "ms_per_query": "one answer, CPU milliseconds"}
NAMES = {
    "swnn_classifier": "published",
    "swnn_weights": "weights",
    "swnn_ranker": "ranking",
    "omikuji_parabel": "omikuji",
    "pecos_xr_linear": "PECOS",
    "napkinxc_plt": "napkinXC PLT",
    "napkinxc_br": "napkinXC BR",
    "liblinear_ovr": "one-vs-rest",
}
# Where a name may stand, in points from its dot: above, below, right, left, then further away.
PLACES = tuple(
    (far * x, far * y) for far, (x, y) in product((1, 2), ((0, 1), (0, -1), (1, 0), (-1, 0)))
)
DISTANCE = 8


def main(folder: Path) -> None:
    rows = [row for row in json.loads(FIGURES.read_text()) if _is_shown(row)]
    for name, shape, size in (
        ("quality", (1, 2), (9.6, 3.9)),
        ("quality-narrow", (2, 1), (4.6, 7)),
    ):
        figure, panels = plt.subplots(*shape, figsize=size, sharey=True)
        for panel, (cost, title) in zip(panels, COSTS.items(), strict=True):
            panel.set_xscale("log")
            for row in rows:
                ours = row["peer"].startswith("swnn")
                colour, mark = (BLUE, "o") if ours else (GREY, "s")
                panel.plot(row[cost], row["P@1"], mark, color=colour, ms=8 if ours else 6)
            panel.margins(x=0.22, y=0.16)
            panel.xaxis.set_major_formatter("{x:g}")
            panel.set_xlabel(title)
            panel.set_ylabel("P@1 on EURLEX57K, %" if shape[0] > 1 or panel is panels[0] else "")
        figure.subplots_adjust(wspace=0.06, hspace=0.28)
        figure.canvas.draw()
        for panel, cost in zip(panels, COSTS, strict=True):
            _name_points(panel, rows, cost)
        save(figure, folder, name)


def _is_shown(row: dict[str, Any]) -> bool:
    return row["dataset"] == DATA_SET and row["peer"] in NAMES and "failed" not in row


def _name_points(panel: Any, rows: list[dict[str, Any]], cost: str) -> None:
    """Write each name at the first place where it covers no dot and no other name."""
    dots = [panel.transData.transform((row[cost], row["P@1"])) for row in rows]
    taken = [Bbox.from_bounds(x - 6, y - 6, 12, 12) for x, y in dots]
    for row in sorted(rows, key=lambda row: not row["peer"].startswith("swnn")):
        for place in PLACES:
            text = _write(panel, row, cost, place)
            box = text.get_window_extent()
            if not any(box.overlaps(other) for other in taken) and _inside(panel, box):
                break
            text.remove()
        else:  # no free place: the first one, rather than no name
            box = _write(panel, row, cost, PLACES[0]).get_window_extent()
        taken.append(box)


def _inside(panel: Any, box: Bbox) -> bool:
    frame = panel.get_window_extent()
    return frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1


def _write(panel: Any, row: dict[str, Any], cost: str, place: tuple[int, int]) -> Any:
    ours = row["peer"].startswith("swnn")
    x, y = place
    return panel.annotate(
        NAMES[row["peer"]], (row[cost], row["P@1"]), xytext=(DISTANCE * x, DISTANCE * y),
        textcoords="offset points", ha={-1: "right", 0: "center", 1: "left"}[(x > 0) - (x < 0)],
        va={-1: "top", 0: "center", 1: "bottom"}[(y > 0) - (y < 0)],
        color=BLUE if ours else GREY, fontweight="bold" if ours else "normal",
    )  # fmt: skip
