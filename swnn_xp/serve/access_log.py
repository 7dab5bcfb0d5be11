"""The access log: a line of JSON for each request."""

from __future__ import annotations

import re
import secrets
import sys
from datetime import UTC, datetime
from typing import Any

from swnn_xp.serve.wire import encode

HEADER = b"x-request-id"
_USABLE = re.compile(rb"[A-Za-z0-9._-]{1,100}")


def request_id(scope: Any) -> bytes:
    """Id of a request: the client's ``X-Request-ID`` if it is short and plain, else a new one."""
    given = dict(scope["headers"]).get(HEADER, b"")
    return given if _USABLE.fullmatch(given) else secrets.token_hex(8).encode()


def log_request(scope: Any, id_: bytes, status: int, seconds: float) -> None:
    """Write the line of a request that has ended."""
    client = scope.get("client")
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "request_id": id_.decode(),
        "client": client[0] if client else None,
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "duration_ms": round(1e3 * seconds, 3),
    }
    sys.stdout.write(encode(line).decode() + "\n")
    sys.stdout.flush()
