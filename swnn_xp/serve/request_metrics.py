"""Counts, times and, if wanted, logs every request."""

from __future__ import annotations

import time
from collections.abc import Container
from typing import Any

from swnn_xp.serve.metrics import REQUEST_ID as HEADER
from swnn_xp.serve.metrics import Metrics, log_request, request_id

_TIMED = frozenset({"/v1/predict", "/annif/suggest"})


class RequestMetrics:
    """ASGI middleware that reports each request to `Metrics` and to the access log."""

    def __init__(self, app: Any, metrics: Metrics, paths: Container[str], log: bool) -> None:
        self._app, self._metrics, self._paths, self._log = app, metrics, paths, log

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500
        id_ = request_id(scope) if self._log else b""
        started = time.perf_counter()

        async def watched(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if id_:
                    message = {**message, "headers": [*message["headers"], (HEADER, id_)]}
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            # Unknown paths are counted together, so that clients can't make the list grow.
            path = scope["path"] if scope["path"] in self._paths else "other"
            seconds = time.perf_counter() - started
            is_prediction = path in _TIMED and scope["method"] == "POST"
            self._metrics.count_request(path, status, seconds, is_prediction=is_prediction)
            if id_:
                log_request(scope, id_, status, seconds)
