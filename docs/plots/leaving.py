"""How a row is abandoned early: what is known about one dot product, value by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from bounds import PACKAGE, S, debtags_problem
from formulas import Bounds, levels
from matplotlib import pyplot as plt
from style import BLUE, GREY, ORANGE, RED, save

from swnn_xp import datasets

BLOCK = 32  # values between two checks: two cache lines


def main(folder: Path) -> None:
    data = datasets.load("debtags")
    problem = debtags_problem(data)
    row, theta = _longest_in_vain(problem)
    figure, axes = plt.subplots(figsize=(6.8, 3.2))
    _draw(axes, *_course(problem, row), theta / problem.jaccard[row])
    name = data.row_names_train[row]
    axes.set_title(f"Query {PACKAGE}, row {name}", size=10.5, loc="left")
    save(figure, folder, "leaving")


def _longest_in_vain(problem: Bounds) -> tuple[int, float]:
    """The longest candidate that is not a neighbour, and theta."""
    theta = np.sort(problem.sims)[-S]
    in_vain = np.flatnonzero((problem.uppers >= theta) & (problem.sims < theta))
    return int(in_vain[problem.sizes[in_vain].argmax()]), float(theta)


def _course(problem: Bounds, row: int) -> tuple[Any, Any]:
    """The dot product so far, and its upper bound, along the forward row."""
    here = np.arange(problem.X.indptr[row], problem.X.indptr[row + 1])
    listed, weights = problem.parts
    forward = here[[_is_forward(problem, p) for p in here]]
    forward = forward[np.argsort(-problem.X.data[forward])]
    products = problem.X.data[forward] * problem.q[problem.X.indices[forward]]
    known = listed[here].sum() + np.concatenate([[0], np.cumsum(products)])
    rest = weights[here].sum() - np.concatenate([[0], np.cumsum(weights[forward])])
    return known, known + rest * problem.scales[row] * problem.weights[2]


def _is_forward(problem: Bounds, p: int) -> bool:
    """Whether a value is stored in its forward row, not in the postings."""
    j = problem.X.indices[p]
    if not problem.is_frequent[j]:
        return False
    return bool(problem.ratios[p] <= levels(problem.ratios[problem.X.indices == j])[1])


def _draw(axes: Any, known: Any, most: Any, goal: float) -> None:
    assert (np.diff(most) <= 1e-12).all(), "the bound rises"
    place = np.arange(known.size)
    axes.fill_between(place, known, most, color=ORANGE, alpha=0.15, lw=0, step="post")
    axes.step(place, most, where="post", color=ORANGE, label="plus the largest possible rest")
    axes.step(place, known, where="post", color=BLUE, label="dot product so far")
    axes.axhline(goal, color=RED, lw=1)
    axes.text(place[-1], goal * 1.02, "threshold θ / Jaccard index", color=RED, size=9, ha="right")
    looks = [p for p in range(BLOCK, known.size, BLOCK) if most[p] < goal]
    for p in looks[:1]:
        axes.axvline(p, color=GREY, lw=1, ls="--")
        axes.text(p + 0.5, known[0] * 1.02, f"abandoned here: {p} of {place[-1]} values", size=9)
    axes.set_xlabel("values in the forward row, largest first")
    axes.set_ylabel("dot product")
    axes.set_ylim(0.9 * known[0], 1.35 * max(most[0], goal))
    axes.legend(loc="upper left", frameon=False, fontsize=9)
