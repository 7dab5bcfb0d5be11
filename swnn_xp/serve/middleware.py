"""What every request passes before its route. Plain ASGI: FastAPI's own kind costs far more."""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import Any

from starlette.responses import Response

from swnn_xp.serve.wire import Failure, encode

_OPEN = frozenset({"/healthz", "/readyz"})
_CHALLENGE = 'Bearer, Basic realm="swnn", charset="UTF-8"'


class HeadAsGet:
    """Answers HEAD as GET without the body."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Any) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET"}, receive, without_body)


class RequireToken:
    """Refuses requests without one of the tokens; the routes of health checks are open."""

    def __init__(self, app: Any, tokens: tuple[bytes, ...]) -> None:
        self._app, self._tokens = app, tokens

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["path"] in _OPEN or self._allows(scope["headers"]):
            await self._app(scope, receive, send)
            return
        body, headers = encode(Failure("a token is required")), {"WWW-Authenticate": _CHALLENGE}
        await Response(body, 401, headers, "application/json")(scope, receive, send)

    def _allows(self, headers: Any) -> bool:
        return allows(dict(headers).get(b"authorization", b""), self._tokens)


def allows(authorization: bytes, tokens: tuple[bytes, ...]) -> bool:
    """Whether an Authorization header carries one of the tokens."""
    given = token_of(authorization)
    return any(hmac.compare_digest(given, token) for token in tokens)


def token_of(authorization: bytes) -> bytes:
    """Token of an Authorization header: the bearer's, or the password of basic authentication.

    Examples
    --------
    >>> token_of(b"Bearer s3cret"), token_of(b"Basic " + base64.b64encode(b"anyone:s3cret"))
    (b's3cret', b's3cret')
    """
    scheme, _, rest = authorization.partition(b" ")
    if scheme.lower() == b"bearer":
        return rest.strip()
    if scheme.lower() == b"basic":
        try:
            return base64.b64decode(rest, validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""
