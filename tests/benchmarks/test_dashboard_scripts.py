"""The dashboard's scripts come from npm: checked, complete, and local in the published page."""

import base64
import hashlib
import importlib
import importlib.resources
import io
import re
import tarfile

import pytest
from benchmarks.loading import ASV


@pytest.fixture
def dashboard(monkeypatch):
    monkeypatch.syspath_prepend(str(ASV / "dashboard"))
    return importlib.import_module("npm_files"), importlib.import_module("publish")


@pytest.fixture
def package(dashboard):
    """A package as npm would send it."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        member = tarfile.TarInfo("package/dist/a.min.js")
        member.size = 5
        tar.addfile(member, io.BytesIO(b"a = 1"))
    sha512 = base64.b64encode(hashlib.sha512(archive.getvalue()).digest()).decode()
    made = dashboard[0].Package("a", "1.0", sha512, {"a.js": "dist/a.min.js"})
    return made, archive.getvalue()


def test_a_package_is_unpacked(dashboard, package, tmp_path):
    dashboard[0].unpack(*package, tmp_path)
    assert (tmp_path / "a.js").read_bytes() == b"a = 1"


def test_an_altered_package_is_refused(dashboard, package, tmp_path):
    made, archive = package
    with pytest.raises(ValueError, match="checksum"):
        dashboard[0].unpack(made, archive + b"x", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_downloaded(dashboard, tmp_path, monkeypatch):
    npm_files, _ = dashboard
    for package in npm_files.PACKAGES:
        for name in package.files:
            (tmp_path / name).write_text("known")
    monkeypatch.setattr(npm_files, "download", None)
    npm_files.fetch(tmp_path)


def test_every_script_of_the_page_has_a_local_copy(dashboard, tmp_path, monkeypatch):
    asv = pytest.importorskip("asv", reason="left out: asv is not installed")
    npm_files, publish = dashboard
    scripts, html = tmp_path / "npm", tmp_path / "html"
    scripts.mkdir()
    html.mkdir()
    for package in npm_files.PACKAGES:
        for name in package.files:
            (scripts / name).write_text("copy")
    monkeypatch.setattr(publish, "SCRIPTS", scripts)
    page = (importlib.resources.files(asv) / "www" / "index.html").read_text()
    (html / "index.html").write_text(page)
    assert publish.make_local(html) == []
    assert not re.findall(
        r'(?:src|href)="https?://[^"]+\.(?:js|css)"', (html / "index.html").read_text()
    )
