"""The committed results, published and opened in a browser: pages render, backends are lines."""

import functools
import html
import http.server
import importlib.util
import json
import math
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from benchmarks.loading import ASV

from swnn_xp.backends import BACKENDS

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not BROWSER, reason="left out: no Chromium here"),
    pytest.mark.skipif(
        importlib.util.find_spec("asv") is None, reason="left out: asv is not installed"
    ),
]


def run(*command, cwd):
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The committed results in a repository whose only commits are those of the results.

    So the test neither needs the history (a shallow clone has none) nor a certain branch.
    """
    folder = tmp_path_factory.mktemp("asv")
    identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    run("git", "init", "-q", cwd=folder)
    shutil.copytree(ASV / "benchmarks", folder / "benchmarks")
    shutil.copytree(ASV / "results", folder / "results")
    config = json.loads((ASV / "asv.conf.json").read_text())
    (folder / "asv.conf.json").write_text(json.dumps(config | {"repo": "."}))
    commit = ["git", *identity, "commit", "-q", "--allow-empty", "-m"]
    run(*commit, "start", cwd=folder)
    start = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=folder, text=True).strip()
    for path in sorted((folder / "results").glob("*/*-existing-*.json")):
        run(*commit, path.name, cwd=folder)
        head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=folder, text=True).strip()
        result = json.loads(path.read_text())
        moved = path.with_name(f"{head[:8]}-{path.name.split('-', 1)[1]}")
        moved.write_text(json.dumps(result | {"commit_hash": head}))
        path.unlink()
    # The results' commits become second parents, as after a merge by fast-forward.
    run("git", "checkout", "-q", "-b", "other", start, cwd=folder)
    run("git", *identity, "merge", "-q", "--no-ff", "-m", "merge", "-", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def pages(results):
    """The published pages and the page that looks at them."""
    sys.path.insert(0, str(ASV / "dashboard"))
    try:
        publish = importlib.import_module("publish")
    finally:
        sys.path.pop(0)
    html_dir = results / "html"
    try:
        publish.publish(results / "asv.conf.json", html_dir)
    except sys.modules["npm_files"].DownloadError as error:
        pytest.skip(f"left out: the dashboard's scripts can't be downloaded: {error}")
    shutil.copy(Path(__file__).with_name("open_dashboard.html"), html_dir)
    return html_dir


@pytest.fixture(scope="module")
def report(pages):
    """What the browser saw."""
    handler = functools.partial(_Quiet, directory=str(pages))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/open_dashboard.html"
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=200000"]
        done = subprocess.run(
            [BROWSER, *flags, "--dump-dom", url], capture_output=True, text=True, timeout=300
        )
        server.shutdown()
    text = re.search(r'<pre id="report">(.*?)</pre>', done.stdout, re.DOTALL)
    assert text, done.stderr[-2000:]
    assert text[1], "the page did not finish"
    return json.loads(html.unescape(text[1]))


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def recorded(results):
    """For each benchmark of today with backends: the backends that have a figure."""
    found = {}
    today = json.loads((results / "results" / "benchmarks.json").read_text())
    for path in (results / "results").glob("*/*-existing-*.json"):
        for name, entry in json.loads(path.read_text())["results"].items():
            figures, params = entry[0], entry[1]
            if figures is None or not params or "'numba'" not in params[0]:
                continue
            if name not in today or entry[2] != today[name]["version"]:  # not drawn
                continue
            each = len(figures) // len(params[0])
            for i, backend in enumerate(params[0]):
                here = figures[i * each : (i + 1) * each]
                # null is a failure, NaN means n/a
                if any(figure is not None and not math.isnan(figure) for figure in here):
                    found.setdefault(name, set()).add(backend.strip("'"))
    return found


def test_the_pages_load_nothing_from_elsewhere(pages):
    assert not re.findall(
        r'(?:src|href)="https?://[^"]+\.(?:js|css)"', (pages / "index.html").read_text()
    )


def test_results_name_no_path_of_a_machine():
    for path in (ASV / "results").rglob("*.json"):
        assert "existing-py_" not in path.name
        assert not re.search(r'"/[a-z]+/', path.read_text()), path


def test_every_page_renders(report):
    assert "failed" not in report, report["failed"]
    assert report["failures"] == []
    assert report["tiles"] == len(report["graphs"])
    assert report["rows"] >= len(report["graphs"])
    assert report["regressions"]
    graphs = report["graphs"].items()
    empty = [name for name, lines in graphs if not any(line["points"] for line in lines)]
    assert not empty, f"no line in {empty}"


def test_every_backend_is_a_line(report, results):
    by_benchmark = recorded(results)
    assert {"numba", "numpy"} <= by_benchmark["searching.Searching.time_search"] <= set(BACKENDS)
    graphs = set(report["graphs"])
    assert "searching.Searching.time_search" in graphs
    for name, backends in by_benchmark.items():
        drawn = " ".join(line["label"] for line in report["graphs"][name] if line["points"])
        if len(backends) > 1:  # a single line has no label
            missing = [backend for backend in backends if f"backend-{backend}" not in drawn]
            assert not missing, (name, drawn)
