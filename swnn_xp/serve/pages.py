"""The OpenAPI document, generated from the types that requests are checked with.

The pages for people: files of the package, nothing from elsewhere.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi

from swnn_xp.serve.wire import (
    EXPLANATIONS,
    FORM,
    REF_TEMPLATE,
    About,
    Failure,
    Health,
    Limits,
    PredictRequest,
    PredictResponse,
    Project,
    Suggestions,
)

_REFUSALS = {
    400: "The body is not JSON",
    408: "The body came too slowly",
    413: "The body is too long",
    415: "The body is not of type application/json",
    422: "The body is JSON but not a valid request",
    500: "The model is damaged where the request needs it",
    503: "Too many requests are waiting; Retry-After says when to retry",
    504: "The answer took too long",
}


def _json_content(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": REF_TEMPLATE.format(name=name)}}}


def _predict() -> dict[str, Any]:
    return {
        "summary": "Rank labels for rows",
        "operationId": "predict",
        "requestBody": {"required": True, "content": _json_content("PredictRequest")},
        "responses": _responses("A prediction for each row", "PredictResponse"),
    }


def _suggest() -> dict[str, Any]:
    form = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
        },
        "required": ["text"],
    }
    return {
        "summary": "Labels for a text, in the protocol of Annif's http backend",
        "operationId": "suggest",
        "requestBody": {"required": True, "content": {FORM: {"schema": form}}},
        "responses": _responses("Labels with scores", "Suggestions"),
    }


def _responses(description: str, name: str) -> dict[str, Any]:
    success = {"200": {"description": description, "content": _json_content(name)}}
    return success | {
        str(status): {"description": why, "content": _json_content("Failure")}
        for status, why in _REFUSALS.items()
    }


def get_doc(answer: str | None) -> dict[str, Any]:
    """The document of a route that only reads; None stands for plain text."""
    content = (
        {"text/plain": {"schema": {"type": "string"}}} if answer is None else _json_content(answer)
    )
    return {"responses": {200: {"description": "Success", "content": content}}}


READY: dict[str, Any] = {
    "responses": {
        200: {"description": "It can", "content": _json_content("Health")},
        503: {"description": "Too many requests are waiting", "content": _json_content("Failure")},
    },
}
RELOAD: dict[str, Any] = {
    "openapi_extra": {"security": [{"token": []}]},
    "responses": {
        200: {"description": "The model now in use", "content": _json_content("About")},
        401: {"description": "The token is wrong", "content": _json_content("Failure")},
        403: {"description": "No token is configured", "content": _json_content("Failure")},
        409: {"description": "The model can't be opened", "content": _json_content("Failure")},
    },
}


def describe(app: FastAPI, limits: Limits) -> None:
    """Complete the application's document: types, limits, the token."""
    _, components = msgspec.json.schema_components(
        [
            PredictRequest,
            PredictResponse,
            *EXPLANATIONS,
            Suggestions,
            About,
            Project,
            Health,
            Failure,
        ],
        ref_template=REF_TEMPLATE,
    )
    components["PredictRequest"]["properties"]["rows"]["maxItems"] = limits.rows
    components["PredictRequest"]["properties"]["k"]["maximum"] = limits.k
    _limit_row(components["Row"]["properties"], limits.features)
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    # FastAPI does not know these routes: see `post.py`.
    posts = {"/v1/predict": {"post": _predict()}, "/annif/suggest": {"post": _suggest()}}
    document["paths"] = posts | document["paths"]
    document["components"] = {
        "schemas": components,
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    }
    app.openapi = lambda: document


def _limit_row(properties: dict[str, Any], most: int) -> None:
    for name in ("indices", "values"):
        properties[name]["maxItems"] = most
    for schema in properties["features"]["anyOf"]:
        schema["maxItems" if schema["type"] == "array" else "maxProperties"] = most


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
_PAGE_HEADERS = {
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
        return Response(body, headers=_PAGE_HEADERS, media_type=media_type)

    return page
