"""The pages of `swnn evaluate`, `swnn tune` and `swnn reproduce`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from swnn_xp.metrics import Reliability
from swnn_xp.pages import charts, html
from swnn_xp.reproduce import Reproduction
from swnn_xp.tuning.records import RULES, TuningResult


def evaluation_page(text: str, reliability: Reliability, title: str) -> str:
    """Show the quality of a model on one self-contained HTML page.

    Parameters
    ----------
    text : str
        What the command prints.
    reliability : Reliability
        Of the best five labels of each row.
    title : str

    Examples
    --------
    >>> from swnn_xp.metrics import reliability
    >>> found = reliability([[1, 0]], [[0, 1]], [[0.9, 0.3]])
    >>> "<b>20.00%</b>" in evaluation_page("2 rows", found, "test.txt")
    True
    """
    facts = {
        "expected calibration error": f"{100 * reliability.error:.2f}%",
        "predictions": f"{int(reliability.n.sum()):,}",
    }
    n_bins = reliability.n.size
    rows = [
        (f"{i / n_bins:.1f} to {(i + 1) / n_bins:.1f}", f"{int(reliability.n[i]):,}",
         f"{100 * reliability.said[i]:.1f}", f"{100 * reliability.right[i]:.1f}")
        for i in range(n_bins) if reliability.n[i]
    ]  # fmt: skip
    head = ["probability", "predictions", "mean probability %", "right %"]
    what = "The best five labels of each row. On the diagonal, probabilities say what is right."
    body = [
        f"<header><h1>{escape(title)}</h1></header>",
        html.tiles(facts),
        f'<section class="card"><h2>Reliability</h2><p class="soft">{what}</p>'
        f"{charts.reliability_plot(reliability)}</section>",
        f'<section class="card"><h2>Bins</h2>{html.table(head, rows)}</section>',
        f'<section class="card"><h2>Quality</h2><div class="scroll"><pre>{escape(text)}</pre>'
        "</div></section>",
    ]
    return html.page(title, "\n".join(body))


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
        f'<section class="card"><h2>{result.metric} in %, beta = {beta:g}</h2>'
        f'<div class="scroll">{svg}</div></section>'
        for beta, svg in charts.heat_map_svgs(result).items()
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
        html.tiles(facts),
        f'<div class="pair">{maps}</div>',
        f'<section class="card"><h2>All settings</h2>{html.table(head, rows)}</section>',
    ]
    return html.page(title, "\n".join(body))


def reproduction_page(results: Sequence[Reproduction], machine: str) -> str:
    """Show the results of `reproduce` in one self-contained HTML page.

    Examples
    --------
    >>> from swnn_xp.reproduce import Line
    >>> one = Reproduction("Tiny", True, (), (Line("build", "within 60 s", "1.0 s"),))
    >>> "SYNTHETIC" in reproduction_page([one], "one core")
    True
    """
    title = "The paper's figures and those measured here"
    body = [
        f'<header><h1>{title}</h1><p class="soft">Measured on: {escape(machine)}</p></header>',
        *(_section(result) for result in results),
    ]
    return html.page(title, "\n".join(body))


def _section(result: Reproduction) -> str:
    tag = ' <span class="tag">SYNTHETIC twin</span>' if result.is_synthetic else ""
    notes = "".join(f'<p class="soft">{escape(note)}</p>' for note in result.notes)
    head, *lines = result.table()
    return (
        f'<section class="card"><h2>{escape(result.name)}{tag}</h2>{notes}'
        f"{html.table(head, lines)}</section>"
    )
