"""The built site (`make docs`): links, pictures, and every page opened in a browser."""

import functools
import http.server
import importlib
import json
import re
import shutil
import subprocess
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).resolve().parents[2] / "docs" / "_build" / "html"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
WIDTHS = (1280, 390)

pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").is_file(), reason="left out: no built site; make docs builds it"
)


class _Page(HTMLParser):
    """Collects ids, links, and what the page loads by itself."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids.update(value for key, value in attrs if key in ("id", "name"))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("img", "script", "iframe", "source") and found.get("src"):
            self.loads.append(found["src"])
        if tag == "link" and "stylesheet" in (found.get("rel") or ""):
            self.loads.append(found["href"])


@pytest.fixture(scope="module")
def site():
    pages = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
    return {path: _Page(path) for path in pages}


def _target(page, link):
    path = unquote(urlsplit(link).path)
    return (page.parent / path).resolve() if path else page


def test_links_lead_somewhere(site):
    broken = []
    for path, page in site.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = _target(path, link)
            target = target / "index.html" if target.is_dir() else target
            known = site.get(target)
            if not target.is_file() or (
                known and parts.fragment and unquote(parts.fragment) not in known.ids
            ):
                broken.append(f"{path.relative_to(SITE)}: {link}")
    assert not broken


def test_pages_load_only_what_the_site_has(site):
    missing = [
        f"{path.relative_to(SITE)}: {link}"
        for path, page in site.items()
        for link in page.loads
        if not link.startswith("data:")
        and (urlsplit(link).scheme or urlsplit(link).netloc or not _target(path, link).is_file())
    ]
    assert not missing


def test_every_picture_has_a_description(site):
    for path in site:
        for tag in re.findall(r"<img[^>]*>", path.read_text(encoding="utf-8")):
            assert re.search(r'alt="[^"]+"', tag), f"{path.relative_to(SITE)}: {tag}"


def test_the_report_has_all_chapters_and_no_link_that_leads_nowhere(monkeypatch):
    pytest.importorskip("bs4", reason="left out: make docs runs this")
    monkeypatch.syspath_prepend(str(SITE.parents[2] / "scripts"))
    report = importlib.import_module("make_report")
    title, body = report.report()
    assert "exact" in title
    assert body.count('class="chapter"') == len(report.CHAPTERS) - 1
    assert body.index("Abstract") < body.index("Ablations") < body.rindex("References")
    ids = set(re.findall(r'id="([^"]+)"', body))
    links = re.findall(r'href="#([^"]+)"', body)
    assert links
    assert set(links) <= ids


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address(site, tmp_path_factory):
    """Serve the site together with a page that opens all others, one after another."""
    root = tmp_path_factory.mktemp("served")
    (root / "site").symlink_to(SITE)
    opener = Path(__file__).with_name("open_pages.html").read_text(encoding="utf-8")
    names = [str(path.relative_to(SITE)) for path in site]
    filled = opener.replace("PAGES", json.dumps(names)).replace("WIDTHS", json.dumps(WIDTHS))
    (root / "open.html").write_text(filled, encoding="utf-8")
    handler = functools.partial(_Quiet, directory=str(root))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.skipif(BROWSER is None, reason="left out: no Chromium here")
def test_pages_in_a_browser(address, site, tmp_path):
    """No console errors, no broken pictures, no page wider than the screen."""
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         f"--user-data-dir={tmp_path}", "--window-size=1400,1000", "--virtual-time-budget=3000000",
         "--dump-dom", f"{address}/open.html"],
        capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    report = re.search(r'<pre id="report">(.*?)</pre>', done.stdout, re.DOTALL)
    assert report, f"the browser gave no report: {done.stderr[-2000:]}"
    opened = json.loads(report[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert opened["done"], f"the browser stopped after {opened['opened']} pages"
    assert opened["opened"] == len(site) * len(WIDTHS)
    assert opened["faults"] == []
    # Driver messages show which page was open; anything the browser calls an error counts.
    consoles = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    errors = [line for line in consoles if re.search(r"error|refused|failed|uncaught", line, re.I)]
    assert errors == []
