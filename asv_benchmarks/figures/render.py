"""Write the tables of the pages from docs/data: `make figures`.

A table stands between `<!-- figures: NAME -->` and `<!-- figures: end -->`, so that a page can be
read as plain Markdown. Nothing between the marks is written by hand; a test compares it.
"""

from __future__ import annotations

import re
from pathlib import Path

from tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
MARKED = re.compile(r"(<!-- figures: (?!end )(\S+) -->\n).*?(<!-- figures: end -->)", re.DOTALL)


def pages():
    """README and the pages of the site."""
    written = (ROOT / "docs").rglob("*.md")
    return [
        ROOT / "README.md",
        *sorted(page for page in written if not {"_build", "generated"} & set(page.parts)),
    ]


def rendered(text):
    """A page with the tables of today's data between its marks."""
    return MARKED.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


def main():
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new = rendered(text)
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: written")


if __name__ == "__main__":
    main()
