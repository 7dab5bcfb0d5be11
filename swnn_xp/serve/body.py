"""Reading the body of a request within the limits."""

from __future__ import annotations

import asyncio
from typing import Any

from swnn_xp.serve.wire import HTTPRefusal, Limits


async def read_body(scope: Any, receive: Any, limits: Limits, wanted: str) -> bytes:
    """Read a body: 415 if it is not of the type wanted, 413 if too long, 408 if too slow."""
    headers = dict(scope["headers"])
    media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != wanted.encode():
        raise HTTPRefusal(415, f"the body must be {wanted}")
    if int(headers.get(b"content-length", b"0")) > limits.bytes:  # the server has checked it
        raise _too_long(limits)
    try:
        async with asyncio.timeout(limits.seconds):
            return await _read(receive, limits)
    except TimeoutError:
        raise HTTPRefusal(
            408, f"the body did not arrive within {limits.seconds:g} seconds"
        ) from None


async def _read(receive: Any, limits: Limits) -> bytes:
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HTTPRefusal(400, "the client went away")
        body += message.get("body", b"")
        if len(body) > limits.bytes:
            raise _too_long(limits)
        if not message.get("more_body", False):
            return body


def _too_long(limits: Limits) -> HTTPRefusal:
    return HTTPRefusal(
        413, f"the body is longer than {limits.bytes} bytes", {"Connection": "close"}
    )
