"""The OpenAPI document, made from the types that requests are checked with."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from swnn_xp.serve.limits import Limits
from swnn_xp.serve.wire import About, Answers, Failure, Health, Question

_REFUSALS = {
    400: "The body is not JSON",
    408: "The body came too slowly",
    413: "The body is too long",
    415: "The body is of another kind than JSON",
    422: "The body is JSON but not a question that can be answered",
    500: "The model is damaged where the question needs it",
    503: "Too many requests are waiting; Retry-After says when to come again",
    504: "The answer took too long",
}


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _predict() -> dict[str, Any]:
    return {
        "summary": "Rank labels for rows",
        "operationId": "predict",
        "requestBody": {"required": True, "content": _json("Question")},
        "responses": {
            "200": {"description": "An answer for each row", "content": _json("Answers")},
            **{
                str(status): {"description": why, "content": _json("Failure")}
                for status, why in _REFUSALS.items()
            },
        },
    }


def get_doc(answer: str | None) -> dict[str, Any]:
    """The document of a route that only tells something; None stands for plain text."""
    content = {"text/plain": {"schema": {"type": "string"}}} if answer is None else _json(answer)
    return {"responses": {200: {"description": "It", "content": content}}}


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
    """Let the application's document be complete: types, limits, the token."""
    _, components = msgspec.json.schema_components(
        [Question, Answers, About, Health, Failure], ref_template="#/components/schemas/{name}"
    )
    components["Question"]["properties"]["rows"]["maxItems"] = limits.rows
    components["Question"]["properties"]["k"]["maximum"] = limits.k
    _limit_row(components["Row"]["properties"], limits.features)
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    # FastAPI knows nothing of this route: see `predict.py`.
    document["paths"] = {"/v1/predict": {"post": _predict()}} | document["paths"]
    document["components"] = {
        "schemas": components,
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    }
    app.openapi = lambda: document


def _limit_row(properties: dict[str, Any], most: int) -> None:
    for name in ("indices", "values"):
        properties[name]["maxItems"] = most
    for kind in properties["features"]["anyOf"]:
        kind["maxItems" if kind["type"] == "array" else "maxProperties"] = most
