"""The pages for people, and the OpenAPI document that the page ``/docs`` shows.

The document is generated from the types that check requests, so that the two can't differ.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import msgspec

from swnn_xp._version import __version__
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

PAGE_HEADERS = (
    # The browser enforces that nothing is loaded from elsewhere.
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"cache-control", b"no-cache"),
)
_PAGES = {
    "/": "index.html",
    "/docs": "docs.html",
    "/static/page.js": "page.js",
    "/static/docs.js": "docs.js",
    "/static/style.css": "style.css",
}
_MEDIA_TYPES = {
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "css": b"text/css; charset=utf-8",
}


def load_pages() -> dict[str, tuple[bytes, bytes]]:
    """Text and media type of each page, by its path."""
    folder = files("swnn_xp.serve") / "static"
    return {
        path: ((folder / name).read_bytes(), _MEDIA_TYPES[name.rpartition(".")[2]])
        for path, name in _PAGES.items()
    }


_FORM_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
    "required": ["text"],
}
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


def make_document(limits: Limits) -> dict[str, Any]:
    """Make the OpenAPI document of a service with these limits."""
    schemas = [
        PredictRequest, PredictResponse, *EXPLANATIONS, Suggestions, About, Project, Health, Failure
    ]  # fmt: skip
    _, components = msgspec.json.schema_components(schemas, ref_template=REF_TEMPLATE)
    request, row = (components[name]["properties"] for name in ("PredictRequest", "Row"))
    request["rows"]["maxItems"] = limits.rows
    request["k"]["maximum"] = limits.k
    bounds = {"array": "maxItems", "object": "maxProperties"}
    for name in ("indices", "values", "features"):
        for schema in row[name]["anyOf"]:
            if schema["type"] in bounds:
                schema[bounds[schema["type"]]] = limits.features
    return {
        "openapi": "3.1.0",
        "info": {"title": "swnn", "version": __version__},
        "paths": _paths(),
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _paths() -> dict[str, Any]:
    predict = _operation(
        "predict", "Rank labels for rows", "PredictResponse", "A prediction for each row", _REFUSALS
    )
    suggest = _operation(
        "suggest",
        "Labels for a text, in the protocol of Annif's http backend",
        "Suggestions",
        "Labels with scores",
        {status: why for status, why in _REFUSALS.items() if status != 400}
        | {415: f"The body is not of type {FORM}", 422: "The body is not a valid form"},
    )
    not_reloaded = {
        401: "The token is wrong",
        403: "No token is configured",
        409: "The model can't be opened",
    }
    reload = _operation(
        "reload", "Open the model again", "About", "The model now in use", not_reloaded
    )
    busy = {503: "Too many requests are waiting"}
    metrics = _operation("metrics", "Counts for Prometheus")
    metrics["responses"]["200"]["content"] = {"text/plain": {"schema": {"type": "string"}}}
    form = {FORM: {"schema": _FORM_SCHEMA}}
    return {
        "/v1/predict": {"post": predict | _body(_json("PredictRequest"))},
        "/annif/suggest": {"post": suggest | _body(form)},
        "/v1/model": {"get": _operation("model", "The model in use", "About")},
        "/v1/reload": {"post": reload | {"security": [{"token": []}]}},
        "/annif": {"get": _operation("project", "The model as a project of Annif", "Project")},
        "/readyz": {
            "get": _operation("readyz", "Can it take a request?", "Health", "It can take one", busy)
        },
        "/healthz": {"get": _operation("healthz", "Is it up?", "Health")},
        "/metrics": {"get": metrics},
    }


def _operation(
    name: str,
    summary: str,
    answer: str = "",
    meaning: str = "Success",
    refusals: dict[int, str] | None = None,
) -> dict[str, Any]:
    responses = {"200": {"description": meaning, "content": _json(answer)}}
    for status, why in (refusals or {}).items():
        responses[str(status)] = {"description": why, "content": _json("Failure")}
    return {"summary": summary, "operationId": name, "responses": responses}


def _body(content: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": content}}


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": REF_TEMPLATE.format(name=name)}}}
