"""What the HTTP side of a service may be asked for, beside the limits of requests."""

from __future__ import annotations

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
