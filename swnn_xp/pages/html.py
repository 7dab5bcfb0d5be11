"""What every page has: head, style, script, tables, and a policy that forbids the network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}
</main>
{script}</body>
</html>
"""


def page(title: str, body: str, scripts: Sequence[str] = ()) -> str:
    """Build a page from an HTML body and the names of scripts beside this file."""
    code = "".join(f"<script>\n{_asset(name)}</script>\n" for name in scripts)
    return _PAGE.format(
        policy=_POLICY, title=escape(title), style=_asset("style.css"), body=body, script=code
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts; the first column holds the rows' titles."""
    parts = ['<div class="scroll"><table>']
    cells = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    parts.append(f"<thead><tr>{cells}</tr></thead><tbody>")
    for first, *others in rows:
        cells = "".join(f"<td>{escape(text)}</td>" for text in others)
        parts.append(f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>')
    parts.append("</tbody></table></div>")
    return "\n".join(parts)


def tiles(facts: dict[str, str]) -> str:
    """A row of large figures with their captions."""
    inner = "".join(
        f"<div><b>{escape(figure)}</b><span>{escape(caption)}</span></div>"
        for caption, figure in facts.items()
    )
    return f'<div class="tiles">{inner}</div>'


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
