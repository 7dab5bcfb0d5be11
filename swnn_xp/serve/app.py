"""The routes of the service."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route

from swnn_xp._version import __version__
from swnn_xp.serve.middleware import HeadAsGet, RequireToken
from swnn_xp.serve.pages import READY, RELOAD, add_pages, describe, get_doc
from swnn_xp.serve.post import Post
from swnn_xp.serve.request_metrics import RequestMetrics
from swnn_xp.serve.security import HEADERS, HTTPOptions, SecurityHeaders
from swnn_xp.serve.service import Service
from swnn_xp.serve.wire import FORM, Failure, Health, HTTPRefusal, encode

_TEXT = "text/plain; version=0.0.4; charset=utf-8"


def create_app(service: Service, options: HTTPOptions = HTTPOptions()) -> FastAPI:  # noqa: B008
    """Make the application around a service, for any ASGI server.

    Parameters
    ----------
    service : Service
    options : HTTPOptions

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
    >>> list(app.openapi()["paths"])[:3]
    ['/v1/predict', '/annif/suggest', '/v1/model']
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
    _add_middleware(app, service, options)
    return app


def _add_middleware(app: FastAPI, service: Service, options: HTTPOptions) -> None:
    """Add what requests pass; the last one added is the first they meet."""
    if options.gzip:
        app.add_middleware(GZipMiddleware, minimum_size=1000)
    if tokens := options.tokens(service.reload_token):
        app.add_middleware(RequireToken, tokens=tokens)
    if options.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=options.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    app.add_middleware(HeadAsGet)
    app.add_middleware(SecurityHeaders)
    paths = frozenset(getattr(route, "path", "") for route in app.routes)
    log = options.access_log
    app.add_middleware(RequestMetrics, metrics=service.metrics, paths=paths, log=log)


def _add_api(app: FastAPI, service: Service) -> None:
    predict = Post(service.answer, service.limits, "application/json")
    suggest = Post(service.suggest, service.limits, FORM)
    app.router.routes.append(Route("/v1/predict", predict, methods=["POST"]))
    app.router.routes.append(Route("/annif/suggest", suggest, methods=["POST"]))

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

    @app.get("/annif", summary="The model as a project of Annif", **get_doc("Project"))
    async def project() -> Response:
        return _json(encode(service.project()))

    @app.get("/readyz", summary="Can it take a request?", **READY)
    async def readyz() -> Response:
        if service.pool.is_full:
            raise HTTPRefusal(503, "too many requests are waiting", {"Retry-After": "1"})
        return _json(encode(Health("ready", service.current.number)))

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
    return _json(refusal.body, refusal.status, refusal.headers)


async def _http_error(_: Request, error: Any) -> Response:
    return _json(encode(Failure(str(error.detail))), error.status_code, error.headers)


async def _internal_error(_: Request, error: Any) -> Response:
    # Made outside of the middleware, which would add them.
    headers = {name.decode(): value.decode() for name, value in HEADERS}
    return _json(encode(Failure("internal error")), 500, headers)
