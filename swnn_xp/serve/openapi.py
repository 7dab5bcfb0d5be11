"""The OpenAPI document, generated from the types that requests are checked with."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from swnn_xp.serve.limits import Limits
from swnn_xp.serve.suggest import FORM
from swnn_xp.serve.wire import (
    EXPLANATIONS,
    REF_TEMPLATE,
    About,
    Failure,
    Health,
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


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": REF_TEMPLATE.format(name=name)}}}


def _predict() -> dict[str, Any]:
    return {
        "summary": "Rank labels for rows",
        "operationId": "predict",
        "requestBody": {"required": True, "content": _json("PredictRequest")},
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
    success = {"200": {"description": description, "content": _json(name)}}
    return success | {
        str(status): {"description": why, "content": _json("Failure")}
        for status, why in _REFUSALS.items()
    }


def get_doc(answer: str | None) -> dict[str, Any]:
    """The document of a route that only reads; None stands for plain text."""
    content = {"text/plain": {"schema": {"type": "string"}}} if answer is None else _json(answer)
    return {"responses": {200: {"description": "Success", "content": content}}}


READY: dict[str, Any] = {
    "responses": {
        200: {"description": "It can", "content": _json("Health")},
        503: {"description": "Too many requests are waiting", "content": _json("Failure")},
    },
}
RELOAD: dict[str, Any] = {
    "openapi_extra": {"security": [{"token": []}]},
    "responses": {
        200: {"description": "The model now in use", "content": _json("About")},
        401: {"description": "The token is wrong", "content": _json("Failure")},
        403: {"description": "No token is configured", "content": _json("Failure")},
        409: {"description": "The model can't be opened", "content": _json("Failure")},
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
