"""Headers of every response that tell browsers what they must not do with it."""

from __future__ import annotations

from typing import Any

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    # The pages have a policy of their own, which lets them load their script and style.
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_NAMES = frozenset(name for name, _ in HEADERS)


class SecurityHeaders:
    """Adds the headers that a response does not have yet."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                there = {name.lower() for name, _ in given} & _NAMES
                more = [pair for pair in HEADERS if pair[0] not in there]
                message = {**message, "headers": [*given, *more]}
            await send(message)

        await self._app(scope, receive, with_headers)
