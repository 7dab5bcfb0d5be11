"""The pages for people: files of the package, nothing from elsewhere."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request, Response

_MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
}
_PAGES = {
    "/": "index.html",
    "/docs": "docs.html",
    "/static/page.js": "page.js",
    "/static/docs.js": "docs.js",
    "/static/style.css": "style.css",
}
_HEADERS = {
    # The browser enforces that nothing is loaded from elsewhere.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def add_pages(app: FastAPI) -> None:
    """Add the pages to an application."""
    for path, name in _PAGES.items():
        app.add_api_route(path, _page(name), include_in_schema=False)


def _page(name: str) -> Any:
    body = (files("swnn_xp.serve") / "static" / name).read_bytes()
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]

    async def page(_: Request) -> Response:
        return Response(body, headers=_HEADERS, media_type=media_type)

    return page
