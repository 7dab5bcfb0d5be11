"""The technical report as one PDF, from the pages of the built site: `make report`.

Needs the site (`make docs`) and Chromium (Debian: chromium), which prints the page.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from bs4 import BeautifulSoup

SITE = Path(__file__).resolve().parents[1] / "docs" / "_build" / "html"
CHAPTERS = ("index", "paper", "exactness", "learned", "experiments")
MANY_ROWS = 30
STYLE = """
@page { size: A4; margin: 22mm 20mm; }
@page { @bottom-center { content: counter(page); font: 8pt "DejaVu Sans", sans-serif; } }
td p, th p, li p { margin: 0.1em 0; }
body { counter-reset: chapter; font: 10pt/1.42 "DejaVu Serif", Georgia, serif; color: #111; }
h1, h2, h3, h4 { font-family: "DejaVu Sans", Helvetica, sans-serif; line-height: 1.2; }
h1 { font-size: 15pt; margin: 1.6em 0 0.6em; } h2 { font-size: 12pt; } h3 { font-size: 10.5pt; }
h1, h2, h3, .leads { break-after: avoid; } figure, pre, table, li, .leads { break-inside: avoid; }
p { orphans: 3; widows: 3; } .dated { break-before: avoid; font-size: 8pt; color: #444; }
.chapter > h1 { counter-increment: chapter; counter-reset: section; }
.chapter > h1::before { content: counter(chapter) "\\2002"; }
.chapter h2 { counter-increment: section; }
.chapter h2::before { content: counter(chapter) "." counter(section) "\\2002"; }
.title { text-align: center; font-size: 19pt; margin-top: 0; }
.byline { text-align: center; margin-bottom: 2em; }
a { color: #1f4e79; text-decoration: none; } .headerlink, .copybtn, .on-phone { display: none; }
figure { margin: 1em 0; text-align: center; } figure img { max-width: 100%; max-height: 58mm; }
figcaption { font-size: 9pt; color: #444; }
table { border-collapse: collapse; font-size: 7.6pt; margin: 0.8em 0; }
table { margin-inline: auto; } th { white-space: nowrap; vertical-align: bottom; }
th, td { padding: 1.5pt 4pt; text-align: left; } thead { border-bottom: 0.8pt solid #111; }
td.text-right, th.text-right { text-align: right; } tbody tr { border-bottom: 0.3pt solid #ccc; }
table.long td { padding-block: 0; line-height: 1.3; }
pre { background: #f5f5f5; padding: 5pt; font-size: 8pt; overflow: hidden; }
code { font-size: 0.9em; } mjx-container { font-size: 95%; }
"""
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<base href="{base}"><style>{style}</style>
<script>window.MathJax = {{ options: {{ processHtmlClass: "math" }} }};</script>
<script defer src="../_static/tex-svg.js"></script></head><body>{body}</body></html>"""


def chapter(name):
    """The article of a page; links to pages outside the report become text."""
    text = (SITE / "method" / f"{name}.html").read_text(encoding="utf-8")
    article = BeautifulSoup(text, "html.parser").find("article")
    for link in article.find_all("a"):
        target = urlsplit(link.get("href", ""))
        stem = Path(target.path).stem
        if target.scheme:
            continue
        if target.path and stem not in CHAPTERS:
            link.unwrap()
        elif target.path:
            link["href"] = f"#{target.fragment or stem}"
    found = article.find("section")
    found["class"] = "chapter"
    for table in found.find_all("table"):
        _keep_together(table)
    return found


def _keep_together(table):
    """The lines before and after a table stay with it; a long one is set tighter, to fit a page."""
    holder = table.find_parent("div", class_="pst-scrollable-table-container") or table
    if len(table.find_all("tr")) > MANY_ROWS:
        table["class"] = [*table.get("class", []), "long"]
    before, after = holder.find_previous_sibling(), holder.find_next_sibling()
    if before is not None and before.name == "p":
        before["class"] = "leads"
    if after is not None and after.name == "p" and after.get_text().startswith("Measured"):
        after["class"] = "dated"


def report():
    """All chapters as one page: title and abstract first, references last."""
    front, *rest = (chapter(name) for name in CHAPTERS)
    for name, found in zip(CHAPTERS[1:], rest, strict=True):
        found.insert(0, BeautifulSoup(f'<span id="{name}"></span>', "html.parser"))
    title = front.find("strong").extract().get_text(" ", strip=True).rstrip(".")
    front.find("h1").decompose()
    front.find("p").decompose()  # lists the chapters
    references = front.find("section", id="references").extract()
    front["class"] = "front"
    head = f'<h1 class="title">{title}</h1><p class="byline">the swnn_xp contributors</p>'
    return title, head + "".join(map(str, [front, *rest, references]))


def main():
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("make report needs Chromium (apt-get install chromium)")
    title, body = report()
    page, pdf = SITE.parent / "report.html", SITE.parent / "report.pdf"
    base = (SITE / "method").as_uri() + "/"
    page.write_text(PAGE.format(title=title, base=base, style=STYLE, body=body), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    options += ["--no-pdf-header-footer", "--virtual-time-budget=60000", f"--print-to-pdf={pdf}"]
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, *options, f"--user-data-dir={profile}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    print(f"{pdf.relative_to(Path.cwd())}: {pdf.stat().st_size // 1000:,} kB")


if __name__ == "__main__":
    main()
