"""The busiest route, as a plain ASGI application.

It avoids FastAPI's handling of requests and bodies, which takes longer than the answer. Its
document is generated from the types that check the body (`openapi.py`).
"""

from __future__ import annotations

from typing import Any

from swnn_xp.serve.body import read_json_body
from swnn_xp.serve.refusal import HTTPRefusal
from swnn_xp.serve.service import Service
from swnn_xp.serve.wire import Failure, encode


class Predict:
    """Answers ``POST /v1/predict``."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        headers: dict[str, str] = {}
        try:
            body = await read_json_body(scope, receive, self._service.limits)
            status, answer = 200, await self._service.answer(body)
        except HTTPRefusal as refusal:
            status, answer = refusal.status, encode(Failure(refusal.why))
            headers = refusal.headers
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
