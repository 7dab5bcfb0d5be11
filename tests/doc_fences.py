"""The fenced blocks of a Markdown page."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# Pages whose examples need an extra, and a module of it: `make test-extras` runs them.
NEEDS = {"docs/cluster.md": "dask", "docs/serving.md": "uvicorn"}
# Those whose shell blocks alone do.
_SHELL_NEEDS = {"docs/tutorials/corrections.md": "uvicorn", "docs/tutorials/debian.md": "uvicorn"}
_FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?^```(?P<kind>[^\n`]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Fence(NamedTuple):
    """A block, and the reason given above it if it is not to be run."""

    kind: str
    text: str
    line: int
    reason: str | None


def pages():
    """All pages of the site that are written by hand, and the README."""
    docs = ROOT / "docs"
    written = [p for p in docs.rglob("*.md") if not {"_build", "generated"} & set(p.parts)]
    return [ROOT / "README.md", *sorted(written)]


def name_of(page):
    return str(page.relative_to(ROOT))


def lacks(page, shell=False):
    """The module that a page's Python or shell blocks need and that is not installed, or None."""
    module = (NEEDS | _SHELL_NEEDS if shell else NEEDS).get(name_of(page))
    return module if module and find_spec(module) is None else None


def fences(page):
    text = page.read_text(encoding="utf-8")
    return [
        Fence(m["kind"].strip(), m["text"], text.count("\n", 0, m.start()) + 1, m["reason"])
        for m in _FENCE.finditer(text)
    ]
