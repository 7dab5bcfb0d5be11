"""The page of `swnn evaluate --html`: how often predictions of each probability are right."""

from __future__ import annotations

from html import escape

from swnn_xp.metrics import Reliability
from swnn_xp.pages import shell
from swnn_xp.pages.svg import reliability_plot


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
        shell.tiles(facts),
        f'<section class="card labels"><h2>Reliability</h2><p class="soft">{what}</p>'
        f"{reliability_plot(reliability)}</section>",
        f'<section class="card"><h2>Bins</h2>{shell.table(head, rows)}</section>',
        f'<section class="card"><h2>Quality</h2><div class="scroll"><pre>{escape(text)}</pre>'
        "</div></section>",
    ]
    return shell.page(title, "\n".join(body))
