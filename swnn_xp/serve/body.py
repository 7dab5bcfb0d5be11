"""The body of a request, as far as it is allowed to go."""

from __future__ import annotations

import asyncio
from typing import Any

from swnn_xp.serve.limits import Limits
from swnn_xp.serve.refusal import Refusal


async def read_json_body(scope: Any, receive: Any, limits: Limits) -> bytes:
    """Read a JSON body: 415 for another kind, 413 if it is too long, 408 if it is too slow."""
    headers = dict(scope["headers"])
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise Refusal(415, "the body must be application/json")
    if int(headers.get(b"content-length", b"0")) > limits.bytes:  # the server has checked it
        raise _too_long(limits)
    try:
        async with asyncio.timeout(limits.seconds):
            return await _read(receive, limits)
    except TimeoutError:
        raise Refusal(408, f"the body did not arrive within {limits.seconds:g} seconds") from None


async def _read(receive: Any, limits: Limits) -> bytes:
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "the client went away")
        body += message.get("body", b"")
        if len(body) > limits.bytes:
            raise _too_long(limits)
        if not message.get("more_body", False):
            return body


def _too_long(limits: Limits) -> Refusal:
    return Refusal(413, f"the body is longer than {limits.bytes} bytes", {"Connection": "close"})
