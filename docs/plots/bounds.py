"""Why few rows need an exact similarity: the pruned kernel's bounds, drawn on debtags.

The bounds are computed here in plain NumPy from their formulas, not taken from the kernel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from style import BLUE, GREEN, GREY, ORANGE, RED, save

from swnn_xp import datasets

S, PACKAGE, NEIGHBOUR = 25, "gnucash", "grisbi"
FREQUENT = 0.01  # share of the rows from which a feature gets a bitmap
MASS_STEPS = 2**11


class Problem(NamedTuple):
    """Unit rows, a unit query, and which features are frequent."""

    X: Any
    q: Any
    frequent: Any


def main(folder: Path) -> None:
    data = datasets.load("debtags")
    X, Q = _unit(data.X_train), _unit(data.X_test)
    often = np.bincount(X.indices, minlength=X.shape[1]) >= FREQUENT * X.shape[0]
    q = Q[[data.row_names_test.index(PACKAGE)]].toarray().ravel()
    problem = Problem(X, q, often)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
    row = X[[data.row_names_train.index(NEIGHBOUR)]]
    _draw_line(left, row.data[often[row.indices]] ** 2)
    _draw_rows(right, *_bounds_and_sims(problem))
    figure.subplots_adjust(wspace=0.25)
    save(figure, folder, "bounds")


def _unit(X: Any) -> Any:
    X = X.astype(np.float64)
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    X.data /= np.repeat(np.maximum(lengths, 1e-300), np.diff(X.indptr))
    return X


def _line(squares: Any) -> tuple[float, float, float]:
    """Line a + b * c above the mass of any c of the squares, and the mass of all of them."""
    b = squares.mean()
    return np.maximum(squares - b, 0).sum(), b, squares.sum()


def _draw_line(axes: Any, squares: Any) -> None:
    a, b, cap = _line(squares)
    c = np.arange(squares.size + 1)
    best = np.concatenate([[0], np.cumsum(np.sort(squares)[::-1])])
    worst = np.concatenate([[0], np.cumsum(np.sort(squares))])
    axes.fill_between(c, worst, best, color=BLUE, alpha=0.15, lw=0)
    axes.plot(c, best, color=BLUE, label="the c largest squares: no choice of c has more")
    axes.plot(c, np.minimum(cap, a + b * c), color=ORANGE, lw=2, label="min(cap, a + b c): stored")
    axes.set_xlabel("c, frequent features that the row shares with the query")
    axes.set_ylabel("mass of the row on them, X")
    axes.set_ylim(0, 1.35 * cap)
    axes.set_title(f"Row {NEIGHBOUR}: three numbers bound every overlap", size=10.5, loc="left")
    axes.legend(loc="upper left", frameon=False, fontsize=9)


def _bounds_and_sims(problem: Problem) -> tuple[Any, Any]:
    X, q, frequent = problem
    n, m = np.diff(X.indptr), np.count_nonzero(q)
    row = np.repeat(np.arange(X.shape[0]), n)
    shared = q[X.indices] != 0
    overlap = np.bincount(row[shared], minlength=X.shape[0])
    dots = np.bincount(row, X.data * q[X.indices], minlength=X.shape[0])
    jaccard = overlap / (m + n - overlap)
    often = frequent[X.indices]
    rare = np.bincount(row, X.data * q[X.indices] * ~often, minlength=X.shape[0])
    inside = np.bincount(row[often & shared], minlength=X.shape[0])
    mass = np.bincount(row, _rounded_up(q, frequent)[X.indices] * often, minlength=X.shape[0])
    square = X.data**2 * often
    total = np.bincount(row, square, minlength=X.shape[0])
    mean = total / np.maximum(np.bincount(row, often, minlength=X.shape[0]), 1)
    above = np.bincount(row, np.maximum(square - mean[row], 0) * often, minlength=X.shape[0])
    mass_of_row = np.minimum(total, above + mean * inside)
    return (rare + np.sqrt(mass * mass_of_row)) * jaccard, dots * jaccard


def _rounded_up(q: Any, frequent: Any) -> Any:
    """The query's squares in steps of its frequent mass / 2048, up to two significant bits."""
    squares = np.where(frequent, q * q, 0)
    step = squares.sum() / MASS_STEPS
    whole = np.ceil(squares / step * (1 + 1e-9)).astype(np.int64)
    shift = np.maximum(np.ceil(np.log2(whole + 1)).astype(np.int64) - 2, 0)
    return (((whole + (1 << shift) - 1) >> shift) << shift) * step


def _draw_rows(axes: Any, bounds: Any, sims: Any) -> None:
    assert (bounds >= sims - 1e-12).all(), "a bound is below its similarity"
    theta = np.sort(sims)[-S]
    answer, passed = sims >= theta, bounds >= theta
    shown = bounds > 1e-5
    kinds = [
        (~passed & shown, GREY, f"{np.count_nonzero(~passed):,} rows skipped"),
        (passed & ~answer, ORANGE, f"{np.count_nonzero(passed & ~answer)} completed in vain"),
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
    axes.text(1.1e-5, theta * 1.08, "θ, the S-th best similarity", color=RED, size=9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1e-5, 0.1)
    axes.set_ylim(1e-5, 0.3)
    axes.set_xlabel("similarity (the pruned kernel never computes the grey ones)")
    axes.set_ylabel("upper bound")
    axes.set_title(
        f"All rows, query {PACKAGE}: no point lies below the line", size=10.5, loc="left"
    )
    axes.legend(loc="lower right", frameon=True, fontsize=9, markerscale=1.6)
