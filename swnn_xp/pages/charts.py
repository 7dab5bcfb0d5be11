"""The charts of the pages, drawn by matplotlib into SVG that takes its colours from the page."""

from __future__ import annotations

import io
import json
import math
import re
from html import escape
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure  # no pyplot: no window system, no global state
from matplotlib.patches import Circle, Rectangle
from matplotlib.ticker import FixedLocator, MaxNLocator
from numpy.typing import NDArray

from swnn_xp.metrics import Reliability
from swnn_xp.tuning.records import Setting, TuningResult

_WIDTH, _HEIGHT = 480, 300
_LEFT, _TOP, _RIGHT, _BOTTOM = 66, 14, 22, 44
_CELL_WIDTH, _CELL_HEIGHT = 68, 36
_POINTS = 240  # of a curve: more would not be visible
_MAX_BARS = 40
_SUFFIXES = {9: "G", 6: "M", 3: "k"}

_LABELS, _FEATURES, _SOFT, _LINE, _MARK = "#b4501e", "#1f6f8b", "#5b6775", "#d9dfe6", "#c2185b"
_VARIABLES = {
    _LABELS: "--labels", _FEATURES: "--features", _SOFT: "--soft", _LINE: "--line", _MARK: "--mark",
}  # fmt: skip
"""The light theme's colours, for which style.css has others in the dark."""

_STYLE: dict[Any, Any] = {
    "font.size": 12,
    "font.sans-serif": ["DejaVu Sans"],
    "svg.fonttype": "none",  # text stays text, in the page's font
    "text.color": _SOFT,
    "axes.labelcolor": _SOFT,
    "xtick.labelcolor": _SOFT,
    "ytick.labelcolor": _SOFT,
    # Whatever SVG refers to by an id is left out: ids must be unique on a page.
    "xtick.bottom": False,
    "ytick.left": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.color": _LINE,
    "axes.axisbelow": True,
    **dict.fromkeys((f"axes.spines.{side}" for side in ("left", "right", "top", "bottom")), False),
}


class Bars(NamedTuple):
    """A histogram of counts: bar ``i`` is the rows with ``lows[i]`` to ``highs[i]``."""

    lows: list[int]
    highs: list[int]
    rows: list[int]
    has_tail: bool
    """Whether the last bar holds the longest 1% and is wider than the others."""


class Panel(NamedTuple):
    """The scores of one beta: a row for each alpha, a column for each S; nan if not tried."""

    beta: float
    alphas: list[float]
    sizes: list[int]
    scores: NDArray[np.float64]


def rank_frequency(counts: NDArray[Any], noun: str) -> str:
    """Occurrences by rank, on two logarithmic axes; plots.js reads values off the curve.

    Examples
    --------
    >>> rank_frequency(np.asarray([5, 0, 2]), "label").startswith('<svg class="rank-plot"')
    True
    """
    points = rank_points(counts)
    across, up = _decades(len(counts[counts > 0])), _decades(counts.max(initial=1))
    with mpl.rc_context(_STYLE):
        figure, ax = _chart(f"rank of the {noun}", "rows it occurs in")
        ax.set(xscale="log", yscale="log", xlim=(1, 10**across), ylim=(1, 10**up))
        for axis, decades in ((ax.xaxis, across), (ax.yaxis, up)):
            ticks = [10**i for i in range(decades + 1)]
            axis.set_ticks(ticks, [_short(tick) for tick in ticks])
            axis.set_minor_locator(FixedLocator([]))
        ax.grid(clip_on=False)
        ranks, occurrences = zip(*points, strict=True) if points else ((), ())
        ax.plot(ranks, occurrences, color=_color(noun), lw=2, gid="curve", clip_on=False)
        frame = _LEFT, _TOP, _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM, across, up
        data = f"data-frame='{json.dumps(frame)}' data-points='{json.dumps(points)}'"
        return _to_svg(figure, f"{noun}s by rank and occurrences", f'class="rank-plot" {data}')


def rank_points(counts: NDArray[Any]) -> list[list[int]]:
    """Ranks, at equal distances on a logarithmic axis, and what occurs how often there.

    Examples
    --------
    >>> rank_points(np.asarray([5, 0, 2]))
    [[1, 5], [2, 2]]
    """
    falling = np.sort(counts[counts > 0])[::-1]
    if not falling.size:
        return []
    ranks = np.unique(np.geomspace(1, falling.size, _POINTS).round().astype(np.int64))
    return np.stack([ranks, falling[ranks - 1]], axis=1).tolist()


def histogram(bars: Bars, noun: str) -> str:
    """How many rows have how many labels or features.

    Examples
    --------
    >>> "<title>2 labels: 1 rows</title>" in histogram(histogram_bars(np.asarray([2])), "label")
    True
    """
    with mpl.rc_context(_STYLE):
        figure, ax = _chart(f"{noun}s in a row", "rows")
        ax.grid(axis="y", clip_on=False)
        drawn = ax.bar(range(len(bars.rows)), bars.rows, 0.9, color=_color(noun), clip_on=False)
        for low, high, rows, bar in zip(*bars[:3], drawn, strict=True):
            span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            bar.set_gid(f"bar|{span} {noun}s: {rows:,} rows")
        every = math.ceil(len(bars.rows) / 8) or 1
        ticks = {i: _short(bars.lows[i]) for i in range(0, len(bars.rows), every)}
        if bars.has_tail:
            last = len(bars.rows) - 1
            drawn[last].set_alpha(0.5)
            ticks = {i: text for i, text in ticks.items() if i + every / 2 < last}
            ticks[last] = f"{_short(bars.lows[last])}+"
        ax.set_xticks([*ticks], [*ticks.values()])
        ax.set(xlim=(-0.5, max(len(bars.rows), 1) - 0.5), ylim=(0, max([*bars.rows, 1])))
        ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
        ax.yaxis.set_major_formatter(lambda rows, _: _short(round(rows)))
        return _to_svg(figure, f"{noun}s per row")


def histogram_bars(counts: NDArray[Any]) -> Bars:
    """Cut counts into at most 40 bars of equal width, and one for the longest 1% if needed.

    Examples
    --------
    >>> histogram_bars(np.asarray([1, 2, 2, 4]))
    Bars(lows=[1, 2, 3, 4], highs=[1, 2, 3, 4], rows=[1, 2, 0, 1], has_tail=False)
    """
    if counts.size == 0:
        return Bars([], [], [], False)
    low, high = int(counts.min()), int(counts.max())
    usual = high
    if high - low >= _MAX_BARS:
        usual = int(np.quantile(counts, 0.99, method="inverted_cdf"))
    width = math.ceil((usual - low + 1) / _MAX_BARS)
    lows = list(range(low, usual + 1, width))
    highs = [first + width - 1 for first in lows]
    has_tail = high > highs[-1]
    if has_tail:
        lows.append(highs[-1] + 1)
        highs.append(high)
    highs[-1] = high
    rows = np.histogram(counts, bins=np.asarray([*lows, high + 1]))[0].tolist()
    return Bars(lows, highs, rows, has_tail)


def reliability_plot(found: Reliability) -> str:
    """Share of right predictions against their probability; the larger a dot, the more of them.

    Examples
    --------
    >>> from swnn_xp.metrics import reliability
    >>> "said 90.0%, right 100.0%" in reliability_plot(reliability([[1]], [[0]], [[0.9]]))
    True
    """
    some = np.flatnonzero(found.n)
    with mpl.rc_context(_STYLE):
        figure, ax = _chart("probability", "right", _HEIGHT + _LEFT + _RIGHT - _TOP - _BOTTOM)
        ticks = [i / 5 for i in range(6)]
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks(ticks, [f"{tick:.0%}" for tick in ticks])
        ax.set(xlim=(0, 1), ylim=(0, 1))
        ax.grid(clip_on=False)
        ax.plot([0, 1], [0, 1], color=_SOFT, lw=1, ls="--", zorder=0.5, clip_on=False)
        ax.plot(found.said[some], found.right[some], color=_LABELS, lw=2, clip_on=False)
        for said, right, n in zip(found.said[some], found.right[some], found.n[some], strict=True):
            radius = (3 + 7 * math.sqrt(n / found.n.max())) / (_HEIGHT - _TOP - _BOTTOM)
            text = f"said {100 * said:.1f}%, right {100 * right:.1f}%: {n:,} predictions"
            dot = Circle((said, right), radius, color=_LABELS, lw=0, zorder=3, gid=f"bar|{text}")
            ax.add_patch(dot).set_clip_on(False)
        return _to_svg(figure, "right against probability")


def heat_map(shown: list[Panel], result: TuningResult, *, titled: bool) -> Figure:
    """Scores as one panel for each beta, side by side; the chosen setting is framed."""
    scores = [100 * trial.score for trial in result.trials]
    low, high = min(scores), max(scores)
    if low == high:
        low, high = low - 0.5, high + 0.5
    colors = mpl.colormaps["viridis"]
    tallest, n_columns = max(len(p.alphas) for p in shown), sum(len(p.sizes) for p in shown)
    with mpl.rc_context(_STYLE):
        width, height = 60 * len(shown) + _CELL_WIDTH * n_columns, 60 + _CELL_HEIGHT * tallest
        figure = Figure((width / 72, height / 72), layout="constrained")
        ratios = [len(panel.sizes) for panel in shown]
        axes = figure.subplots(1, len(shown), squeeze=False, width_ratios=ratios)[0]
        for ax, panel in zip(axes, shown, strict=True):
            ax.set_xticks(range(len(panel.sizes)), panel.sizes)
            ax.set_yticks(range(len(panel.alphas)), [f"{alpha:g}" for alpha in panel.alphas])
            ax.set(xlabel="S", ylabel="alpha")
            ax.set(xlim=(-0.5, len(panel.sizes) - 0.5), ylim=(tallest - 0.5, -0.5))
            if titled:
                ax.set_title(f"{result.metric} in %, beta = {panel.beta:g}")
            for (row, column), score in np.ndenumerate(100 * panel.scores):
                if np.isfinite(score):
                    share = (score - low) / (high - low)
                    _cell(ax, column, row, color=colors(share), lw=0, gid="cell")
                    ink = "#ffffff" if share < 0.5 else "#000000"
                    place = {"ha": "center", "va": "center_baseline", "color": ink}
                    ax.text(column, row, f"{score:.2f}", **place)
            S, alpha, beta = result.best.setting
            if beta == panel.beta:
                at = panel.sizes.index(S), panel.alphas.index(alpha)
                _cell(ax, *at, fill=False, edgecolor=_MARK, lw=3, gid="best")
        return figure


def heat_map_svgs(result: TuningResult) -> dict[float, str]:
    """The heat map of each beta, for a page."""
    return {
        panel.beta: _to_svg(
            heat_map([panel], result, titled=False), f"scores, beta = {panel.beta:g}", least=0.8
        )
        for panel in panels(result)
    }


def heat_map_png(result: TuningResult) -> bytes:
    """The heat maps of all betas as a picture."""
    file = io.BytesIO()
    figure = heat_map(panels(result), result, titled=True)
    figure.savefig(file, format="png", dpi=150, facecolor="white")
    return file.getvalue()


def panels(result: TuningResult) -> list[Panel]:
    """Sort the trials of a tuning result into panels.

    Examples
    --------
    >>> from swnn_xp.tuning.records import Trial
    >>> trial = Trial(Setting(25, 1.0, 0.0), 0.5, 0.0)
    >>> panels(TuningResult("P@1", (trial,), trial, 10, 10, 0.0, 0.0))
    [Panel(beta=0.0, alphas=[1.0], sizes=[25], scores=array([[0.5]]))]
    """
    score = {trial.setting: trial.score for trial in result.trials}
    found = []
    for beta in sorted({setting.beta for setting in score}):
        alphas = sorted({s.alpha for s in score if s.beta == beta})
        sizes = sorted({s.n_neighbors for s in score if s.beta == beta})
        rows = [[score.get(Setting(S, alpha, beta), np.nan) for S in sizes] for alpha in alphas]
        found.append(Panel(beta, alphas, sizes, np.asarray(rows)))
    return found


def _chart(below: str, beside: str, width: int = _WIDTH) -> tuple[Figure, Axes]:
    """One pair of axes, `_LEFT`, `_TOP`, ... pixels from the edges, whatever the texts."""
    figure = Figure((width / 72, _HEIGHT / 72), dpi=72)
    inner = width - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    ax = figure.add_axes((_LEFT / width, _BOTTOM / _HEIGHT, inner[0] / width, inner[1] / _HEIGHT))
    ax.set(xlabel=below, ylabel=beside)
    return figure, ax


def _cell(ax: Axes, column: int, row: int, **look: Any) -> None:
    ax.add_patch(Rectangle((column - 0.48, row - 0.47), 0.96, 0.94, **look)).set_clip_on(False)


def _to_svg(figure: Figure, label: str, attributes: str = "", least: float = 0) -> str:
    """The drawing for a page: ids become classes, ``id|text`` a tooltip, colours variables.

    It is as wide as its place on the page, down to the share ``least`` of its own width.
    """
    file = io.StringIO()
    without = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context(_STYLE):
        figure.savefig(file, format="svg", metadata=without)
    svg = file.getvalue()
    content = svg[svg.index("</defs>") + len("</defs>") :]
    content = re.sub(r'<g id="([^"|]*)\|([^"]*)">', r'<g class="\1"><title>\2</title>', content)
    content = content.replace(' id="', ' class="').replace("'DejaVu Sans'", "system-ui")
    for color, variable in _VARIABLES.items():
        content = content.replace(color, f"var({variable})")
    width, height = (round(72 * inches) for inches in figure.get_size_inches())
    return (
        f'<svg {attributes} viewBox="0 0 {width} {height}" style="max-width:{1.2 * width:.0f}px;'
        f'min-width:{least * width:.0f}px" role="img" aria-label="{escape(label)}">{content}'
    )


def _color(noun: str) -> str:
    return _FEATURES if noun == "feature" else _LABELS


def _decades(largest: int) -> int:
    return max(1, math.ceil(math.log10(max(int(largest), 1))))


def _short(number: int) -> str:
    for zeros, letter in _SUFFIXES.items():
        if number >= 10**zeros:
            return f"{number / 10**zeros:.3g}{letter}"
    return str(number)
