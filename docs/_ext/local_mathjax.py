"""Serve MathJax from an installed package instead of a CDN: one file, no fonts to fetch."""

from __future__ import annotations

import shutil
from importlib.metadata import files
from pathlib import Path
from typing import Any

FILE = "tex-svg.js"


def setup(app: Any) -> dict[str, bool]:
    app.config.mathjax_path = FILE
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True}


def _copy(app: Any, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    shipped = files("sphinx-mathjax-offline") or []
    source = next(str(file.locate()) for file in shipped if file.name == FILE)
    shutil.copyfile(source, Path(app.outdir, "_static", FILE))
