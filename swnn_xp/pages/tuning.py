"""The page of `swnn tune --plot`: heat maps as SVG, and the table of all settings."""

from __future__ import annotations

from html import escape

from swnn_xp.pages import shell
from swnn_xp.pages.heatmap import Panel, panels, span
from swnn_xp.tuning.records import RULES, TuningResult

_CELL_WIDTH, _CELL_HEIGHT, _LEFT, _TOP = 68, 36, 58, 40
# From the worst to the best setting; white figures are legible on all of them.
_COLOURS = ("#3b3f5c", "#3d4f7d", "#2f6690", "#1f7a8c", "#1b8a6b", "#2e8b3d")


def tuning_page(result: TuningResult, title: str) -> str:
    """Show a tuning result in one self-contained HTML page.

    Examples
    --------
    >>> from swnn_xp.tuning import Setting, Trial
    >>> trial = Trial(Setting(25, 1.0, 0.0), 0.5, 0.0)
    >>> result = TuningResult("P@1", (trial,), trial, 10, 10, 0.0, 0.0)
    >>> "50.00" in tuning_page(result, "train.txt")
    True
    """
    S, alpha, beta = result.best.setting
    facts = {
        f"best {result.metric}": f"{100 * result.best.score:.2f}%",
        "S": str(S),
        "alpha": f"{alpha:g}",
        "beta": f"{beta:g}",
    }
    maps = "".join(
        f'<section class="card"><h2>beta = {panel.beta:g}</h2>'
        f'<div class="scroll">{_heat_map(panel, result)}</div></section>'
        for panel in panels(result)
    )
    has_folds = any(trial.spread for trial in result.trials)
    rows = [
        (f"S = {t.setting.n_neighbors}", f"{t.setting.alpha:g}", f"{t.setting.beta:g}",
         f"{100 * t.score:.2f}", *([f"{100 * t.spread:.2f}"] if has_folds else []))
        for t in sorted(result.trials, key=lambda trial: -trial.score)
    ]  # fmt: skip
    head = ["setting", "alpha", "beta", f"{result.metric} %"] + ["std over folds"] * has_folds
    asked = f"{result.n_done:,} of {result.n_asked:,} rows asked, {result.held_out}. "
    asked += f"Chosen: {RULES[result.rule]}."
    body = [
        f'<header><h1>{escape(title)}</h1><p class="soft">{escape(asked)}</p></header>',
        shell.tiles(facts),
        f'<div class="pair">{maps}</div>',
        f'<section class="card"><h2>All settings</h2>{shell.table(head, rows)}</section>',
    ]
    return shell.page(title, "\n".join(body))


def _heat_map(panel: Panel, result: TuningResult) -> str:
    low, high = span(result)
    width = _LEFT + _CELL_WIDTH * len(panel.sizes) + 4
    height = _TOP + _CELL_HEIGHT * len(panel.alphas) + 4
    parts = [f'<text x="{_LEFT}" y="14">S</text><text x="4" y="{_TOP - 8}">alpha</text>']
    for i, size in enumerate(panel.sizes):
        x = _LEFT + (i + 0.5) * _CELL_WIDTH
        parts.append(f'<text x="{x}" y="{_TOP - 8}" text-anchor="middle">{size}</text>')
    for j, alpha in enumerate(panel.alphas):
        y = _TOP + j * _CELL_HEIGHT
        middle = y + _CELL_HEIGHT / 2 + 4
        parts.append(f'<text x="{_LEFT - 8}" y="{middle}" text-anchor="end">{alpha:g}</text>')
        for i, score in enumerate(panel.scores[j]):
            if score is not None:
                colour = _COLOURS[round((score - low) / (high - low) * (len(_COLOURS) - 1))]
                parts.append(_cell(_LEFT + i * _CELL_WIDTH, y, colour, score))
    S, alpha, beta = result.best.setting
    if beta == panel.beta:
        x = _LEFT + panel.sizes.index(S) * _CELL_WIDTH
        y = _TOP + panel.alphas.index(alpha) * _CELL_HEIGHT
        frame = f'width="{_CELL_WIDTH - 2}" height="{_CELL_HEIGHT - 2}" rx="4"'
        parts.append(f'<rect class="best" x="{x + 1}" y="{y + 1}" {frame}/>')
    return (
        f'<svg viewBox="0 0 {width} {height}" style="max-width:{width}px;min-width:{width * 0.8}px"'
        f' role="img" aria-label="scores at beta = {panel.beta:g}">{"".join(parts)}</svg>'
    )


def _cell(x: float, y: float, colour: str, score: float) -> str:
    middle = f'x="{x + _CELL_WIDTH / 2}" y="{y + _CELL_HEIGHT / 2 + 4}" text-anchor="middle"'
    return (
        f'<g class="cell"><rect x="{x + 1}" y="{y + 1}" width="{_CELL_WIDTH - 2}" '
        f'height="{_CELL_HEIGHT - 2}" rx="4" fill="{colour}"/>'
        f"<text {middle}>{100 * score:.2f}</text></g>"
    )
