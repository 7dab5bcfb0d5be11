"""Small plots as SVG text: rank against frequency, histograms of counts, reliability."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_xp.metrics import Reliability

WIDTH, HEIGHT = 480, 300
LEFT, TOP, RIGHT, BOTTOM = 54, 14, 22, 44
_INNER_WIDTH, _INNER_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
_POINTS = 240  # of a curve: more would not be visible
_MOST_BARS = 40
_SHORT = {3: "k", 6: "M", 9: "G"}


class Bars(NamedTuple):
    """A histogram of counts: bar ``i`` is the rows with ``lows[i]`` to ``highs[i]``."""

    lows: list[int]
    highs: list[int]
    rows: list[int]
    has_tail: bool
    """Whether the last bar holds the longest 1% and is wider than the others."""


def rank_frequency(counts: NDArray[Any], noun: str) -> str:
    """Occurrences by rank, on two logarithmic axes.

    Examples
    --------
    >>> rank_frequency(np.asarray([5, 0, 2]), "label").startswith('<svg class="rank-plot"')
    True
    """
    falling = np.sort(counts[counts > 0])[::-1]
    ranks = np.unique(np.geomspace(1, max(falling.size, 1), _POINTS).round().astype(np.int64))
    points = [[int(rank), int(falling[rank - 1])] for rank in ranks if rank <= falling.size]
    across, up = _decades(falling.size), _decades(falling.max(initial=1))
    at = [
        (LEFT + math.log10(rank) / across * _INNER_WIDTH,
         TOP + _INNER_HEIGHT - math.log10(count) / up * _INNER_HEIGHT)
        for rank, count in points
    ]  # fmt: skip
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    grid = [_vertical(LEFT + i / across * _INNER_WIDTH, _power(i)) for i in range(across + 1)]
    grid += [_horizontal(_at_height(i / up), _power(i)) for i in range(up + 1)]
    frame = json.dumps([LEFT, TOP, _INNER_WIDTH, _INNER_HEIGHT, across, up])
    return (
        f'<svg class="rank-plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{noun}s by rank and occurrences" '
        f"data-frame='{frame}' data-points='{json.dumps(points)}'>"
        f"{''.join(grid)}{_titles(f'rank of the {noun}', 'rows it occurs in')}"
        f'<polyline class="curve" points="{line}"/>'
        '<circle class="dot" r="0"/><circle class="mark" r="0"/>'
        f'<text class="readout" x="{WIDTH - RIGHT}" y="{TOP + 12}" text-anchor="end"></text></svg>'
    )


def histogram(counts: NDArray[Any], noun: str) -> str:
    """How many rows have how many labels or features.

    Examples
    --------
    >>> "<title>2 labels: 1 rows</title>" in histogram(np.asarray([2]), "label")
    True
    """
    bars = histogram_bars(counts)
    most = max([*bars.rows, 1])
    parts = [_horizontal(_at_height(tick / most), _short(tick)) for tick in _ticks(most)]
    parts += [_bar(bars, i, most, noun) for i in range(len(bars.rows))]
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{noun}s per row">'
        f"{''.join(parts)}{_titles(f'{noun}s in a row', 'rows')}</svg>"
    )


def reliability_plot(found: Reliability) -> str:
    """Share of right predictions against their probability; the larger a dot, the more of them.

    Examples
    --------
    >>> from swnn_xp.metrics import reliability
    >>> "said 90.0%, right 100.0%" in reliability_plot(reliability([[1]], [[0]], [[0.9]]))
    True
    """
    ticks = [(i / 5, f"{20 * i}%") for i in range(6)]
    parts = [_vertical(LEFT + share * _INNER_WIDTH, text) for share, text in ticks]
    parts += [_horizontal(_at_height(share), text) for share, text in ticks]
    parts.append(
        f'<line class="grid" stroke-dasharray="5 4" x1="{LEFT}" y1="{TOP + _INNER_HEIGHT}" '
        f'x2="{WIDTH - RIGHT}" y2="{TOP}"/>'
    )
    some = [i for i in range(found.n.size) if found.n[i]]
    at = [(LEFT + found.said[i] * _INNER_WIDTH, _at_height(found.right[i])) for i in some]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    parts.append(f'<polyline class="curve" points="{line}"/>')
    largest = max([*found.n.tolist(), 1])
    for i, (x, y) in zip(some, at, strict=True):
        radius = 3 + 7 * math.sqrt(found.n[i] / largest)
        said, right = 100 * found.said[i], 100 * found.right[i]
        parts.append(
            f'<circle class="bar" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>said '
            f"{said:.1f}%, right {right:.1f}%: {int(found.n[i]):,} predictions</title></circle>"
        )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" style="max-width:{WIDTH + 80}px" '
        'role="img" aria-label="right against probability">'
        f"{''.join(parts)}{_titles('probability', 'right')}</svg>"
    )


def _bar(bars: Bars, i: int, most: int, noun: str) -> str:
    step = _INNER_WIDTH / len(bars.rows)
    low, high, rows = bars.lows[i], bars.highs[i], bars.rows[i]
    x, tall = LEFT + i * step, rows / most * _INNER_HEIGHT
    span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    is_tail = bars.has_tail and i == len(bars.rows) - 1
    every = math.ceil(len(bars.rows) / 8)
    tick = ""
    if is_tail:
        tick = _label_below(x + step / 2, f"{_short(low)}+")
    elif i % every == 0 and i + every / 2 < len(bars.rows):
        tick = _label_below(x + step / 2, _short(low))
    return (
        f'<rect class="bar{" tail" if is_tail else ""}" x="{x + 0.5:.1f}" '
        f'y="{TOP + _INNER_HEIGHT - tall:.1f}" width="{max(step - 1, 0.5):.1f}" '
        f'height="{tall:.1f}"><title>{span} {noun}s: {rows:,} rows</title></rect>{tick}'
    )


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
    if high - low >= _MOST_BARS:
        usual = int(np.quantile(counts, 0.99, method="inverted_cdf"))
    width = math.ceil((usual - low + 1) / _MOST_BARS)
    lows = list(range(low, usual + 1, width))
    highs = [first + width - 1 for first in lows]
    has_tail = high > highs[-1]
    if has_tail:
        lows.append(highs[-1] + 1)
        highs.append(high)
    highs[-1] = high
    rows = np.histogram(counts, bins=np.asarray([*lows, high + 1]))[0].tolist()
    return Bars(lows, highs, rows, has_tail)


def _decades(largest: int) -> int:
    return max(1, math.ceil(math.log10(max(int(largest), 1))))


def _ticks(most: int) -> list[int]:
    """About four round numbers from 0 up."""
    step = 10 ** math.floor(math.log10(max(most, 1)))
    for finer in (1, 2, 5):
        if most / (step / finer) >= 3:
            step = max(1, step // finer)
            break
    return list(range(0, most + 1, step))


def _power(exponent: int) -> str:
    return _short(10**exponent)


def _short(number: int) -> str:
    for zeros, letter in reversed(_SHORT.items()):
        if number >= 10**zeros:
            return f"{number / 10**zeros:.3g}{letter}"
    return str(number)


def _at_height(share: float) -> float:
    return TOP + _INNER_HEIGHT * (1 - share)


def _vertical(x: float, text: str) -> str:
    bottom = TOP + _INNER_HEIGHT
    line = f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>'
    return line + _label_below(x, text)


def _label_below(x: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{TOP + _INNER_HEIGHT + 16}" text-anchor="middle">{text}</text>'


def _horizontal(y: float, text: str) -> str:
    return (
        f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
    )


def _titles(below: str, beside: str) -> str:
    middle = TOP + _INNER_HEIGHT / 2
    return (
        f'<text x="{LEFT + _INNER_WIDTH / 2}" y="{HEIGHT - 6}" text-anchor="middle">{below}</text>'
        f'<text transform="translate(12 {middle}) rotate(-90)" text-anchor="middle">{beside}</text>'
    )
