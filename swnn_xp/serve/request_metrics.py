"""Counts and times every request. Plain ASGI: FastAPI's own middleware costs far more."""

from __future__ import annotations

import time
from collections.abc import Container
from typing import Any

from swnn_xp.serve.metrics import Metrics


class RequestMetrics:
    """ASGI middleware that reports each request to `Metrics`."""

    def __init__(self, app: Any, metrics: Metrics, paths: Container[str]) -> None:
        self._app, self._metrics, self._paths = app, metrics, paths

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500
        started = time.perf_counter()

        async def watched(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            # Unknown paths are counted together, so that clients can't make the list grow.
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.count_request(path, status, time.perf_counter() - started)
