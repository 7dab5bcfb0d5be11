"""What the HTTP side of a service may be asked for, beside the limits of requests.

Headers of every response that tell browsers what they must not do with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HTTPOptions:
    """Options of `create_app` and `serve`.

    Examples
    --------
    >>> HTTPOptions(cors_origins=("https://example.org",)).gzip
    False
    """

    token: str | None = None
    """Required by all routes but ``/healthz`` and ``/readyz``: as a bearer token, or as the
    password of basic authentication, which browsers and Annif know."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may ask, or ``"*"``."""
    gzip: bool = False
    """Compress answers of 1,000 bytes and more for clients that accept it."""
    access_log: bool = False
    """Write a line of JSON for each request to standard output."""

    def __post_init__(self) -> None:
        if self.token == "":
            raise ValueError("the token is empty")

    def tokens(self, reload_token: bytes | None) -> tuple[bytes, ...]:
        """Tokens that open the routes; none if they are open to all."""
        if self.token is None:
            return ()
        return tuple(t for t in (self.token.encode(), reload_token) if t is not None)


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
