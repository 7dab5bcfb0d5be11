"""The page of `swnn reproduce --html`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from swnn_xp.pages import shell
from swnn_xp.reproduce.measure import Reproduction


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
    return shell.page(title, "\n".join(body))


def _section(result: Reproduction) -> str:
    tag = ' <span class="tag">SYNTHETIC twin</span>' if result.is_synthetic else ""
    notes = "".join(f'<p class="soft">{escape(note)}</p>' for note in result.notes)
    head, *lines = result.table()
    return (
        f'<section class="card"><h2>{escape(result.name)}{tag}</h2>{notes}'
        f"{shell.table(head, lines)}</section>"
    )
