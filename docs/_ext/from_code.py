"""The parts of the site generated from code: command-line help, table of backends, figures."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import make_pictures

WIDTH = "92"  # argparse wraps its help to $COLUMNS


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", _make)
    app.connect("source-read", _without_last_blank_line)
    return {"parallel_read_safe": True}


def _make(app: Any) -> None:
    folder = Path(app.srcdir, "generated")
    folder.mkdir(exist_ok=True)
    _write(folder / "cli.inc", "\n".join(_commands()))
    _write(folder / "backends.inc", "\n".join(_backends()))
    _write(folder / "more.inc", "\n".join(_more_pages(Path(app.srcdir))))
    make_pictures.make(folder / "plots", make_pictures.outdated(folder / "plots"))


def _write(path: Path, text: str) -> None:
    """Write a file only if its text changes: Sphinx rereads files that are newer."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def _commands() -> Iterator[str]:
    from swnn_xp.cli.main import make_parser

    os.environ["COLUMNS"] = WIDTH
    parser = make_parser()
    yield from ("## swnn", "", "```text", parser.format_help().rstrip(), "```", "")
    choices = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    for name, command in choices.choices.items():
        yield from (f"## swnn {name}", "", "```text", command.format_help().rstrip(), "```", "")


def _backends() -> Iterator[str]:
    from swnn_xp.backends import BACKENDS

    yield "| `backend=` | what it does | devices | takes without a copy | install |"
    yield "|---|---|---|---|---|"
    for b in BACKENDS.values():
        devices, accepts = ", ".join(b.devices), ", ".join(b.accepts)
        yield f"| `{b.name}` | {b.summary} | {devices} | {accepts} | `{b.install}` |"


def _more_pages(folder: Path) -> Iterator[str]:
    """Link the top-level pages that no other page links to, so that none is orphaned."""
    listed = {"index", "start", "performance", "benchmarks", "limits"}
    listed |= {"gpu", "cluster", "serving", "promises", "glossary"}
    found = sorted({page.stem for page in folder.glob("*.md")} - listed)
    if found:
        yield from ("```{toctree}", "", *(f"/{name}" for name in found), "```", "")


def _without_last_blank_line(app: Any, page: str, source: list[str]) -> None:
    """Drop the blank line before a closing fence: doctest needs it, readers do not."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)
