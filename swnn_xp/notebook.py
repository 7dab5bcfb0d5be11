"""Displays for notebooks: small pieces of HTML and SVG that need no script and no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import cos, pi, sin

_STYLE = "font-family:sans-serif;font-size:13px;line-height:1.4"
_CELL = "padding:2px 10px 2px 0;text-align:left"
_SIZE, _RADIUS, _SHOWN = 420, 130, 8


def facts_table(title: str, rows: Mapping[str, object], more: str = "") -> str:
    """A title and a table of names and values.

    Examples
    --------
    >>> "<b>A &amp; B</b>" in facts_table("A & B", {"rows": 3})
    True
    """
    cells = "".join(
        f'<tr><td style="{_CELL};opacity:.7">{escape(name)}</td>'
        f'<td style="{_CELL}">{escape(str(value))}</td></tr>'
        for name, value in rows.items()
    )
    return f'<div style="{_STYLE}"><b>{escape(title)}</b><table>{cells}</table>{more}</div>'


def neighbour_graph(label: str, voters: Sequence[tuple[str, float, str]]) -> str:
    """The row in the middle, its neighbours around it: thicker lines for larger shares.

    Parameters
    ----------
    label : str
        What the neighbours voted for.
    voters : sequence of (name, share, words)
        Shares are between 0 and 1; words are shown when the pointer rests on a neighbour.

    Examples
    --------
    >>> neighbour_graph("web", [("apache2", 1.0, "http, server")]).count("<circle")
    2
    """
    shown = voters[:_SHOWN]
    parts = [_neighbour(i, len(shown), *voter) for i, voter in enumerate(shown)]
    middle = _SIZE / 2
    parts.append(f'<circle cx="{middle}" cy="{middle}" r="9" fill="#1f7a8c"/>')
    left = len(voters) - len(shown)
    more = f", and {left} more" if left else ""
    parts.append(_text(6, _SIZE - 8, f"This row and its neighbours{more}", "start"))
    return (
        f'<svg viewBox="0 0 {_SIZE} {_SIZE}" width="{_SIZE}" style="max-width:100%" role="img" '
        f'aria-label="neighbours that voted for {escape(label)}">{"".join(parts)}</svg>'
    )


def _neighbour(i: int, count: int, name: str, share: float, words: str) -> str:
    angle = 2 * pi * i / count - pi / 2
    middle = _SIZE / 2
    x, y = middle + _RADIUS * cos(angle), middle + _RADIUS * sin(angle)
    caption = f"{_short(name)} {share:.0%}"
    return (
        f'<g><title>{escape(name)}: {escape(words)}</title><line x1="{middle}" y1="{middle}" '
        f'x2="{x:.1f}" y2="{y:.1f}" stroke="#8aa" stroke-width="{1 + 9 * share:.1f}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="#2e8b3d"/>'
        + _text(x, y + (22 if y >= middle else -14), caption, "middle")
        + "</g>"
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="12" fill="currentColor">{escape(text)}</text>'


def _short(name: str) -> str:
    return name if len(name) <= 18 else name[:17] + "…"
