"""The dashboard's scripts and styles, packed by npm, checked and kept for the next run."""

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple


class DownloadError(OSError):
    """A package can't be had here: no npm, or no registry within reach."""


class Package(NamedTuple):
    """A release on npm and what we take from it; all are under the MIT licence."""

    name: str
    version: str
    sha512: str
    files: dict[str, str]
    """Path in the package by our file name."""

    @property
    def spec(self) -> str:
        return f"{self.name}@{self.version}"


PACKAGES = (
    Package(
        "jquery", "3.3.1",
        "Ubldcmxp5np52/ENotGxlLe6aGMvmF4R8S6tZjsP6Knsaxd/xp3Zrh50cG93lR6nPXyUFwzN3ZSOQI0wRJNdGg==",
        {"jquery.js": "dist/jquery.min.js"},
    ),
    Package(
        "flot", "0.8.3",
        "xg2otcTJDvS+ERK+my4wxG/ASq90QURXtoM4LhacCq0jQW2jbyjdttbRNqU2cPykrpMvJ6b2uSp6SAgYAzj9tQ==",
        {
            f"jquery.flot{plugin}.js": f"jquery.flot{plugin}.js"
            for plugin in ("", ".categories", ".selection", ".time")
        },
    ),
    Package(
        "flot-orderbars", "1.0.0",
        "Jv51fvzevUjNXEeozpwEKfPjhiZhfiJddv0WHjduUTCmSF+7T5K7C9c9Y1wIVmUhDBv5fLMjgbwKecT0GIKPZA==",
        {"jquery.flot.orderBars.js": "js/jquery.flot.orderBars.js"},
    ),
    Package(
        "stupid-table-plugin", "1.1.3",
        "2Vk7XouQPxUQPRe9w0Fu7ZZ8kHLK7rDoLMsCgtKxRNJ7f4dSOGvW9CkHsq5wD6QsaEnWoyLBYH3xOEsrK3yWBg==",
        {"stupidtable.js": "stupidtable.min.js"},
    ),
    Package(
        "blueimp-md5", "2.19.0",
        "DRQrD6gJyy8FbiE4s+bDoXS9hiW3Vbx5uCdwvcCf3zLHL+Iv7LtGHLpr+GZV8rHG8tK766FGYBwRbu8pELTt+w==",
        {"md5.js": "js/md5.min.js"},
    ),
    Package(
        "bootstrap", "3.1.1",
        "TAzqS8E/ISpVHP29gYhy+1NSV+FJwApDVQhDfgLYsIuUDJiqJzH2DfORN5tiu+Ie2iBLrzEG34t4Rf465cigqg==",
        {"bootstrap.js": "dist/js/bootstrap.min.js", "bootstrap.css": "dist/css/bootstrap.min.css"},
    ),
)  # fmt: skip


def fetch(folder: Path) -> None:
    """Put all files into a folder; what is there already is not downloaded again."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        if not all((folder / name).exists() for name in package.files):
            unpack(package, download(package), folder)


def download(package: Package) -> bytes:
    """Let npm, set up as on this machine, download a package."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", "--pack-destination", folder, package.spec]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DownloadError(f"npm can't pack {package.spec}: {error}") from error
        archives = list(Path(folder).glob("*.tgz"))
        if done.returncode or len(archives) != 1:
            why = (done.stderr.strip().splitlines() or ["no archive"])[-1]
            raise DownloadError(f"npm can't pack {package.spec}: {why}")
        return archives[0].read_bytes()


def unpack(package: Package, archive: bytes, folder: Path) -> None:
    """Check a downloaded package and write its files."""
    found = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if found != package.sha512:
        raise ValueError(f"{package.spec}: its checksum is not the recorded one")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for name, path in package.files.items():
            member = tar.extractfile(f"package/{path}")
            assert member is not None
            (folder / name).write_bytes(member.read())
