"""A page in a real browser: what its DOM becomes, and what its console says."""

from __future__ import annotations

import shutil
import subprocess

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="left out: chromium is not installed (apt-get install chromium)"
)
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
    "--no-first-run", "--disable-extensions", "--enable-logging=stderr", "--log-level=0",
    "--virtual-time-budget=3000",
)  # fmt: skip


def browse(folder, html, fragment="", *flags):
    """Open a page and return (DOM, console messages)."""
    page = folder / "page.html"
    page.write_text(html, encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    done = subprocess.run(
        [CHROMIUM, *_FLAGS, *flags, profile, "--dump-dom", f"{page.as_uri()}{fragment}"],
        capture_output=True, text=True, encoding="utf-8", timeout=120, check=True,
    )  # fmt: skip
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, console


def with_script(html, code):
    """The page with one more script at its end."""
    return html.replace("</body>", f"<script>{code}</script></body>")
