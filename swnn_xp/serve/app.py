"""The routes."""

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
from swnn_xp.serve.refusal import Refusal
from swnn_xp.serve.service import Service
from swnn_xp.serve.watch import Watch
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
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(HTTPException, _no_such_thing)
    app.add_exception_handler(Exception, _broken)
    _add_api(app, service)
    add_pages(app)
    describe(app, service.limits)
    paths = frozenset(getattr(route, "path", "") for route in app.routes)
    app.add_middleware(Watch, metrics=service.metrics, paths=paths)
    return app


def _add_api(app: FastAPI, service: Service) -> None:
    app.router.routes.append(Route("/v1/predict", Predict(service), methods=["POST"]))

    @app.get("/v1/model", summary="What answers", **get_doc("About"))
    async def model() -> Response:
        return _json(encode(service.about()))

    @app.post("/v1/reload", summary="Open the model anew", **RELOAD)
    async def reload(request: Request) -> Response:
        allowed = service.may_reload(request.headers.get("authorization"))
        if allowed is None:
            raise Refusal(403, "reloading over HTTP is off: no token is configured")
        if not allowed:
            raise Refusal(401, "wrong token", {"WWW-Authenticate": "Bearer"})
        try:
            await asyncio.to_thread(service.reload)
        except (OSError, ValueError) as error:
            raise Refusal(409, f"the model in use is kept: {error}") from None
        return _json(encode(service.about()))

    @app.get("/healthz", summary="Is it up?", **get_doc("Health"))
    async def healthz() -> Response:
        return _json(encode(Health("ok", service.current.number)))

    @app.get("/metrics", summary="Counts for Prometheus", **get_doc(None))
    async def metrics() -> Response:
        loaded, pool = service.current, service.pool
        text = service.metrics.text(
            waiting_or_running=pool.under_way,
            room=pool.room,
            model=loaded.number,
            model_rows=loaded.clf.n_samples_fit_,
        )
        return Response(text, media_type=_TEXT)


def _json(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, "application/json")


async def _refused(_: Request, refusal: Any) -> Response:
    return _json(encode(Failure(refusal.why)), refusal.status, refusal.headers)


async def _no_such_thing(_: Request, error: Any) -> Response:
    return _json(encode(Failure(str(error.detail))), error.status_code, error.headers)


async def _broken(_: Request, error: Any) -> Response:
    return _json(encode(Failure("internal error")), 500)
