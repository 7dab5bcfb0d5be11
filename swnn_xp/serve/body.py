"""The body of a request, as far as it is allowed to go."""

from __future__ import annotations

import asyncio
from typing import Any

from swnn_xp.serve.limits import Limits
from swnn_xp.serve.refusal import Refusal


async def read_json_body(request: Any, limits: Limits) -> bytes:
    """Read a JSON body: 415 for another kind, 413 if it is too long, 408 if it is too slow."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "the body must be application/json")
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limits.bytes:
        raise _too_long(limits)
    chunks, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size > limits.bytes:
                    raise _too_long(limits)
                chunks.append(chunk)
    except TimeoutError:
        raise Refusal(408, f"the body did not arrive within {limits.seconds:g} seconds") from None
    return b"".join(chunks)


def _too_long(limits: Limits) -> Refusal:
    return Refusal(413, f"the body is longer than {limits.bytes} bytes", {"Connection": "close"})
