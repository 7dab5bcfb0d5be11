"""The routes of the service."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route

from swnn_xp._version import __version__
from swnn_xp.serve.openapi import RELOAD, describe, get_doc
from swnn_xp.serve.pages import add_pages
from swnn_xp.serve.predict import Predict
from swnn_xp.serve.refusal import HTTPRefusal
from swnn_xp.serve.request_metrics import RequestMetrics
from swnn_xp.serve.service import Service
from swnn_xp.serve.wire import Failure, Health, encode

_TEXT = "text/plain; version=0.0.4; charset=utf-8"


def create_app(service: Service) -> FastAPI:
    """Make the application around a service, for any ASGI server.

    Parameters
    ----------
    service : Service

    Returns
    -------
    fastapi.FastAPI

    Examples
    --------
    >>> import tempfile
    >>> from swnn_xp import SWNNClassifier
    >>> from swnn_xp.serve import Service, create_app
    >>> folder = tempfile.mkdtemp()
    >>> SWNNClassifier().fit([[1, 1, 0], [0, 1, 1]], [[1, 0], [0, 1]]).save(folder)
    >>> app = create_app(Service(folder))
    >>> list(app.openapi()["paths"])
    ['/v1/predict', '/v1/model', '/v1/reload', '/healthz', '/metrics']
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.pool.close()

    app = FastAPI(
        title="swnn", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan
    )
    app.add_exception_handler(HTTPRefusal, _refused)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _internal_error)
    _add_api(app, service)
    add_pages(app)
    describe(app, service.limits)
    paths = frozenset(getattr(route, "path", "") for route in app.routes)
    app.add_middleware(RequestMetrics, metrics=service.metrics, paths=paths)
    return app


def _add_api(app: FastAPI, service: Service) -> None:
    app.router.routes.append(Route("/v1/predict", Predict(service), methods=["POST"]))

    @app.get("/v1/model", summary="The model in use", **get_doc("About"))
    async def model() -> Response:
        return _json(encode(service.about()))

    @app.post("/v1/reload", summary="Open the model again", **RELOAD)
    async def reload(request: Request) -> Response:
        allowed = service.may_reload(request.headers.get("authorization"))
        if allowed is None:
            raise HTTPRefusal(403, "reloading over HTTP is off: no token is configured")
        if not allowed:
            raise HTTPRefusal(401, "wrong token", {"WWW-Authenticate": "Bearer"})
        try:
            await asyncio.to_thread(service.reload)
        except (OSError, ValueError) as error:
            raise HTTPRefusal(409, f"the model in use is kept: {error}") from None
        return _json(encode(service.about()))

    @app.get("/healthz", summary="Is it up?", **get_doc("Health"))
    async def healthz() -> Response:
        return _json(encode(Health("ok", service.current.number)))

    @app.get("/metrics", summary="Counts for Prometheus", **get_doc(None))
    async def metrics() -> Response:
        model, pool = service.current, service.pool
        text = service.metrics.text(
            waiting_or_running=pool.under_way,
            room=pool.room,
            model=model.number,
            model_rows=model.clf.n_samples_fit_,
        )
        return Response(text, media_type=_TEXT)


def _json(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, "application/json")


async def _refused(_: Request, refusal: Any) -> Response:
    return _json(encode(Failure(refusal.why)), refusal.status, refusal.headers)


async def _http_error(_: Request, error: Any) -> Response:
    return _json(encode(Failure(str(error.detail))), error.status_code, error.headers)


async def _internal_error(_: Request, error: Any) -> Response:
    return _json(encode(Failure("internal error")), 500)
