"""Why a request is refused."""

from __future__ import annotations

from swnn_xp.serve.wire import Failure, encode


class HTTPRefusal(Exception):
    """Becomes a response with this status and one line of text."""

    def __init__(self, status: int, why: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(why)
        self.status, self.why, self.headers = status, why, headers or {}

    @property
    def body(self) -> bytes:
        """Of the response."""
        return encode(Failure(self.why))
