"""Publish the dashboard of all recorded results: `make bench-html`.

asv's pages load their scripts from content networks. Here the pages get copies (from npm, at build
time), so that the published dashboard works offline and loads nothing from elsewhere.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from npm_files import fetch

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parents[1] / ".asv" / "npm"
_REMOTE = re.compile(r'(src|href)="https://[^"]*/([^/"]+\.(?:js|css))"([^>]*)>')
_VERSION = re.compile(r"(-\d[\d.]*\d)?(\.min)?(?=\.(js|css)$)")


def publish(config: Path, html: Path) -> None:
    """Make the pages, then make them self-contained."""
    command = [sys.executable, str(HERE / "asv_all_commits.py"), "publish", "--config", str(config)]
    subprocess.run([*command, "--html-dir", str(html)], cwd=config.parent, check=True)
    fetch(SCRIPTS)
    missing = make_local(html)
    if missing:
        print(f"still loaded from elsewhere: {', '.join(missing)}", file=sys.stderr)


def make_local(html: Path) -> list[str]:
    """Make the first page use local copies; returns the names of files that have none."""
    missing = []

    def local(tag: re.Match[str]) -> str:
        name = _VERSION.sub("", tag[2], count=1)
        if not (SCRIPTS / name).exists():
            missing.append(tag[2])
            return tag[0]
        # The checksum belongs to the remote file.
        rest = re.sub(r'\s*(integrity|crossorigin|referrerpolicy)="[^"]*"', "", tag[3])
        return f'{tag[1]}="scripts/{name}"{rest}>'

    page = html / "index.html"
    page.write_text(_REMOTE.sub(local, page.read_text()))
    shutil.copytree(SCRIPTS, html / "scripts", dirs_exist_ok=True)
    return missing


if __name__ == "__main__":
    out = HERE.parents[1] / ".asv" / "html"
    publish(HERE.parent / "asv.conf.json", out)
    print(f"open {out.relative_to(HERE.parents[1])}/index.html through a web server, for example")
    print(f"  python3 -m http.server --directory {out.relative_to(HERE.parents[1])}")
