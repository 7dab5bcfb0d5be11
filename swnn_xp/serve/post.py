"""Routes that answer a body, as plain ASGI applications.

They avoid FastAPI's handling of requests and bodies, which takes longer than the answer. Their
documents are generated from the types that check the bodies (`openapi.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from swnn_xp.serve.body import read_body
from swnn_xp.serve.wire import HTTPRefusal, Limits


class Post:
    """Answers POST requests.

    Parameters
    ----------
    answer : coroutine function
        Turns the body of a request into the body of the response, or raises `HTTPRefusal`.
    limits : Limits
    media_type : str
        Of the bodies that are taken.
    """

    def __init__(
        self, answer: Callable[[bytes], Awaitable[bytes]], limits: Limits, media_type: str
    ) -> None:
        self._answer, self._limits, self._media_type = answer, limits, media_type

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        headers: dict[str, str] = {}
        try:
            body = await read_body(scope, receive, self._limits, self._media_type)
            status, answer = 200, await self._answer(body)
        except HTTPRefusal as refusal:
            status, answer, headers = refusal.status, refusal.body, refusal.headers
        await send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [
                    (b"content-type", b"application/json"),
                    (b"content-length", b"%d" % len(answer)),
                    *((name.lower().encode(), text.encode()) for name, text in headers.items()),
                ],
            }
        )
        await send({"type": "http.response.body", "body": answer})
