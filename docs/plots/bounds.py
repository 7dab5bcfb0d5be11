"""Why few rows need an exact similarity: the pruned kernel's upper bounds on debtags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from formulas import Bounds, levels, unit
from matplotlib import pyplot as plt
from style import BLUE, GREEN, GREY, ORANGE, RED, save

from swnn_xp import datasets

S, PACKAGE, WORD = 25, "gnucash", "interface"


def main(folder: Path) -> None:
    data = datasets.load("debtags")
    problem = debtags_problem(data)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
    _draw_levels(left, problem.ratios[problem.X.indices == data.feature_names.index(WORD)])
    _draw_rows(right, problem)
    figure.subplots_adjust(wspace=0.25)
    save(figure, folder, "bounds")


def debtags_problem(data: Any) -> Bounds:
    """One test row of debtags against all training rows."""
    query = unit(data.X_test)[[data.row_names_test.index(PACKAGE)]]
    return Bounds(unit(data.X_train), query.toarray().ravel())


def _draw_levels(axes: Any, ratios: Any) -> None:
    ratios = np.sort(ratios)
    small, large = levels(ratios)
    bound = np.where(ratios <= small, small, large)
    inside = ratios <= large
    rank = np.arange(1, ratios.size + 1)
    axes.fill_between(rank[inside], ratios[inside], bound[inside], color=ORANGE, alpha=0.15, lw=0)
    axes.plot(rank[inside], bound[inside], color=ORANGE, lw=2, label="level, from the bitmap")
    axes.plot(rank[inside], ratios[inside], color=BLUE, label="value / scale of the row")
    beyond = f"the {np.count_nonzero(~inside)} largest stay in the postings"
    axes.plot(rank[~inside], ratios[~inside], ".", ms=4, color=GREEN, label=beyond)
    for level, name in ((small, "small"), (large, "large")):
        axes.text(ratios.size * 0.01, level + 0.03, f"{name}: {level:.2f}", color=ORANGE, size=9)
    axes.set_xlabel(f"the {ratios.size:,} rows that have the word, by value")
    axes.set_ylabel("value / scale, scale = 1 / sqrt(size of row)")
    axes.set_ylim(0, 1.1 * ratios[-1])
    axes.set_title(f"Word “{WORD}”: two levels bound all values", size=10.5, loc="left")
    axes.legend(loc="upper left", frameon=False, fontsize=9)


def _draw_rows(axes: Any, problem: Bounds) -> None:
    bounds, sims = problem.uppers, problem.sims
    assert (bounds >= sims - 1e-12).all(), "a bound is below its similarity"
    theta = np.sort(sims)[-S]
    answer, passed = sims >= theta, bounds >= theta
    shown = bounds > 1e-5
    kinds = [
        (~passed & shown, GREY, f"{np.count_nonzero(~passed):,} rows skipped"),
        (passed & ~answer, ORANGE, f"{np.count_nonzero(passed & ~answer)} others rescored"),
        (answer, GREEN, f"the {S} neighbours"),
    ]
    for chosen, colour, label in kinds:
        many = colour == GREY
        axes.plot(
            np.maximum(sims[chosen], 1e-5), bounds[chosen], ".", ms=4 if many else 6,
            color=colour, label=label, alpha=0.25 if many else 0.9, rasterized=many,
        )  # fmt: skip
    axes.axline((1e-4, 1e-4), (1e-2, 1e-2), color=BLUE, lw=1)
    axes.axhline(theta, color=RED, lw=1)
    axes.text(1.1e-5, theta * 1.08, "threshold θ, the S-th best similarity", color=RED, size=9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1e-5, 0.1)
    axes.set_ylim(1e-5, 0.3)
    axes.set_xlabel("similarity (the pruned kernel never computes the grey ones)")
    axes.set_ylabel("upper bound")
    axes.set_title(f"All rows, query {PACKAGE}: no point is below the line", size=10.5, loc="left")
    axes.legend(loc="lower right", frameon=True, fontsize=9, markerscale=1.6)
