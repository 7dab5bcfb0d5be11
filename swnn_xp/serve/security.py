"""Who may send requests, and what browsers must not do with the answers."""

from __future__ import annotations

import base64
import binascii
import hmac
from dataclasses import dataclass


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


# Of every response that has no other value of its own.
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    # The pages' own policy lets them load their script and style.
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
CHALLENGE = 'Bearer, Basic realm="swnn", charset="UTF-8"'
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""What needs no token: checks whether the service is up."""


def is_allowed(authorization: bytes, tokens: tuple[bytes, ...]) -> bool:
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
