"""One query, its neighbours and the labels they vote for, as a weighted graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path as Path2D
from style import BLUE, GREEN, GREY, INK, ORANGE, save

from swnn_xp import SWNNClassifier, datasets

PACKAGE, S, K = "gnucash", 6, 8


class Column(NamedTuple):
    """Position, title and colour of one column of nodes."""

    left: float
    right: float
    title: str
    colour: str


class Layout(NamedTuple):
    """The columns of a picture and its size in inches; a narrow one has no column for the query."""

    name: str
    size: tuple[float, float]
    query: Column | None
    rows: Column
    labels: Column


LAYOUTS = (
    Layout(
        "neighbours",
        (10, 4.6),
        Column(0, 1.9, "query", INK),
        Column(3.1, 5.3, "nearest rows, Sim", BLUE),
        Column(6.9, 9.6, "labels, sum of votes", ORANGE),
    ),
    Layout(
        "neighbours-narrow",
        (5.6, 4.8),
        None,
        Column(0, 2.05, f"nearest to {PACKAGE}", BLUE),
        Column(2.95, 5.6, "labels, sum of votes", ORANGE),
    ),
)


def main(folder: Path) -> None:
    data = datasets.load("debtags")
    clf = SWNNClassifier(n_neighbors=S).fit(data.X_train, data.y_train)
    row = data.row_names_test.index(PACKAGE)
    for layout in LAYOUTS:
        _draw(folder, layout, data, clf, row)


def _draw(folder: Path, layout: Layout, data: Any, clf: SWNNClassifier, row: int) -> None:
    _, size, query, rows, columns = layout
    x = data.X_test[[row]]
    sims, ids = (found[0] for found in clf.kneighbors(x))
    labels, scores = (best[0] for best in clf.predict_topk(x, k=K))
    right = set(data.y_test[[row]].indices.tolist())
    figure, axes = plt.subplots(figsize=size)
    axes.axis("off")
    rows_at, labels_at = _spread(S), _spread(K)
    for i, (neighbour, sim) in enumerate(zip(ids, sims, strict=True)):
        share = sim / sims[0]
        if query:
            _line(axes, query.right, 0, rows.left, rows_at[i], share, BLUE)
        has = set(data.y_train[[neighbour]].indices.tolist())
        for j, label in enumerate(labels):
            if int(label) in has:
                _line(axes, rows.right, rows_at[i], columns.left, labels_at[j], share, ORANGE)
        _node(axes, rows, rows_at[i], data.row_names_train[neighbour], f"{sim:.3f}", BLUE)
    if query:
        _node(axes, query, 0, PACKAGE, f"{x.nnz} words", INK)
    for j, (label, score) in enumerate(zip(labels, scores, strict=True)):
        colour = GREEN if int(label) in right else GREY
        _node(axes, columns, labels_at[j], data.label_names[label], f"{score:.3f}", colour)
    for column in filter(None, (query, rows, columns)):
        axes.text(column.left, 1.3, column.title, color=column.colour, weight="bold", size=10.5)
    axes.text(columns.left, -1.33, "green: Debian's tag too", size=9, color=GREEN)
    axes.set_xlim(-0.05, columns.right + 0.05)
    axes.set_ylim(-1.4, 1.45)
    save(figure, folder, layout.name)


def _spread(count: int) -> Any:
    return np.linspace(1, -1, count)


def _line(
    axes: Any, left: float, start: float, right: float, end: float, share: float, colour: str
) -> None:
    third = (right - left) / 3
    points = [(left, start), (left + third, start), (right - third, end), (right, end)]
    curve = PathPatch(
        Path2D(points, [Path2D.MOVETO] + [Path2D.CURVE4] * 3), fill=False, edgecolor=colour,
        lw=0.6 + 3.4 * share, alpha=0.2 + 0.4 * share, capstyle="butt",
    )  # fmt: skip
    axes.add_patch(curve)


def _node(axes: Any, column: Column, y: float, name: str, number: str, colour: str) -> None:
    box = FancyBboxPatch(
        (column.left, y - 0.1), column.right - column.left, 0.2, zorder=3,
        boxstyle="round,pad=0,rounding_size=0.05", fc="white", ec=colour, lw=1.8,
    )  # fmt: skip
    axes.add_patch(box)
    axes.text(column.left + 0.1, y, name, ha="left", va="center", size=9.5, zorder=4)
    axes.text(column.right - 0.1, y, number, ha="right", va="center", size=9.5, zorder=4)
