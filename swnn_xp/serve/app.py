"""The ASGI application: which answer a request gets.

It is written against ASGI itself, because a framework's routing and request objects would take
longer than predicting a row does. Compression and cross-origin requests are left to Starlette.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware

from swnn_xp.serve.metrics import REQUEST_ID, log_request, request_id
from swnn_xp.serve.pages import PAGE_HEADERS, load_pages, make_document
from swnn_xp.serve.security import CHALLENGE, HEADERS, OPEN_PATHS, HTTPOptions, is_allowed
from swnn_xp.serve.service import Service
from swnn_xp.serve.timeouts import CONNECTION
from swnn_xp.serve.wire import FORM, Failure, Health, HTTPRefusal, Limits, encode

_TIMED_PATHS = frozenset({"/v1/predict", "/annif/suggest"})
_PROMETHEUS = b"text/plain; version=0.0.4; charset=utf-8"

Headers = dict[bytes, bytes]


class Response(NamedTuple):
    """What a route answers."""

    body: bytes
    status: int = 200
    media_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


Route = Callable[[Headers, Any], Awaitable[Response]]
"""From the headers of a request and the ASGI function that receives its body to the response."""


def create_app(service: Service, options: HTTPOptions = HTTPOptions()) -> Application:  # noqa: B008
    """Make the application around a service, for any ASGI server.

    Parameters
    ----------
    service : Service
    options : HTTPOptions

    Returns
    -------
    Application
        An ASGI application.

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
    return Application(service, options)


class Application:
    """The service as an ASGI application."""

    def __init__(self, service: Service, options: HTTPOptions) -> None:
        self._service, self._log = service, options.access_log
        self._tokens = options.tokens(service.reload_token)
        self._document = make_document(service.limits)
        self._routes: dict[str, dict[str, Route]] = {
            "/v1/predict": {"POST": self._predict},
            "/annif/suggest": {"POST": self._suggest},
            "/v1/model": {"GET": self._model},
            "/v1/reload": {"POST": self._reload},
            "/annif": {"GET": self._project},
            "/readyz": {"GET": self._readyz},
            "/healthz": {"GET": self._healthz},
            "/metrics": {"GET": self._metrics},
            "/openapi.json": _constant(Response(encode(self._document))),
        }
        for path, (text, media_type) in load_pages().items():
            self._routes[path] = _constant(Response(text, 200, media_type, PAGE_HEADERS))
        self._answer: Any = self._dispatch
        if options.gzip:
            self._answer = GZipMiddleware(self._answer, minimum_size=1000)
        if options.cors_origins:
            self._answer = CORSMiddleware(
                self._answer,
                allow_origins=options.cors_origins,
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type"],
            )

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        return self._document

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, count it and, if wanted, log it."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            raise ValueError(f"{scope['type']} is not supported")
        started = time.perf_counter()
        status = None
        id_ = request_id(scope) if self._log else b""
        connection = CONNECTION.get()

        async def send_checked(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = message["headers"]
                names = {name for name, _ in given}
                headers = [*given, *(pair for pair in HEADERS if pair[0] not in names)]
                if id_:
                    headers.append((REQUEST_ID, id_))
                message = {**message, "headers": headers}
                if connection is not None:
                    connection.begin_response()
            elif scope["method"] == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        if connection is not None:
            connection.begin_request()
        try:
            await self._answer(scope, receive, send_checked)
        except Exception:
            if status is None:
                await _send(Response(encode(Failure("internal error")), 500), send_checked)
            raise  # the server logs it
        finally:
            if connection is not None:
                connection.end_request()
            # Unknown paths are counted together, so that clients can't make the list grow.
            path = scope["path"] if scope["path"] in self._routes else "other"
            seconds = time.perf_counter() - started
            is_prediction = path in _TIMED_PATHS and scope["method"] == "POST"
            self._service.metrics.count_request(
                path, status or 500, seconds, is_prediction=is_prediction
            )
            if id_:
                log_request(scope, id_, status or 500, seconds)

    async def _live(self, receive: Any, send: Any) -> None:
        """Follow the server's start and stop; the threads end with it."""
        while (await receive())["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        self._service.pool.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _dispatch(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        try:
            route = self._route(scope["path"], scope["method"], headers)
            response = await route(headers, receive)
        except HTTPRefusal as refusal:
            named = (
                (name.lower().encode(), text.encode()) for name, text in refusal.headers.items()
            )
            response = Response(refusal.body, refusal.status, headers=tuple(named))
        await _send(response, send)

    def _route(self, path: str, method: str, headers: Headers) -> Route:
        needs_token = self._tokens and path not in OPEN_PATHS
        if needs_token and not is_allowed(headers.get(b"authorization", b""), self._tokens):
            raise HTTPRefusal(401, "a token is required", {"WWW-Authenticate": CHALLENGE})
        methods = self._routes.get(path)
        if methods is None:
            raise HTTPRefusal(404, "Not Found")
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            raise HTTPRefusal(405, "Method Not Allowed", {"Allow": ", ".join(methods)})
        return route

    async def _predict(self, headers: Headers, receive: Any) -> Response:
        body = await read_body(headers, receive, self._service.limits, "application/json")
        return Response(await self._service.answer(body))

    async def _suggest(self, headers: Headers, receive: Any) -> Response:
        body = await read_body(headers, receive, self._service.limits, FORM)
        return Response(await self._service.suggest(body))

    async def _model(self, *_: Any) -> Response:
        return Response(encode(self._service.about()))

    async def _reload(self, headers: Headers, _: Any) -> Response:
        service = self._service
        if service.reload_token is None:
            raise HTTPRefusal(403, "reloading over HTTP is off: no token is configured")
        if not is_allowed(headers.get(b"authorization", b""), (service.reload_token,)):
            raise HTTPRefusal(401, "wrong token", {"WWW-Authenticate": "Bearer"})
        try:
            await asyncio.to_thread(service.reload)
        except (OSError, ValueError) as error:
            raise HTTPRefusal(409, f"the model in use is kept: {error}") from None
        return Response(encode(service.about()))

    async def _project(self, *_: Any) -> Response:
        return Response(encode(self._service.project()))

    async def _readyz(self, *_: Any) -> Response:
        if self._service.pool.is_full:
            raise HTTPRefusal(503, "too many requests are waiting", {"Retry-After": "1"})
        return Response(encode(Health("ready", self._service.current.number)))

    async def _healthz(self, *_: Any) -> Response:
        return Response(encode(Health("ok", self._service.current.number)))

    async def _metrics(self, *_: Any) -> Response:
        model, pool = self._service.current, self._service.pool
        text = self._service.metrics.text(
            waiting_or_running=pool.under_way,
            room=pool.room,
            model=model.number,
            model_rows=model.clf.n_samples_fit_,
        )
        return Response(text.encode(), media_type=_PROMETHEUS)


def _constant(response: Response) -> dict[str, Route]:
    async def route(*_: Any) -> Response:
        return response

    return {"GET": route}


async def _send(response: Response, send: Any) -> None:
    headers = [
        (b"content-type", response.media_type),
        (b"content-length", b"%d" % len(response.body)),
        *response.headers,
    ]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})


async def read_body(headers: Headers, receive: Any, limits: Limits, wanted: str) -> bytes:
    """Read a body: 415 if it is not of the type wanted, 413 if too long, 408 if too slow."""
    media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != wanted.encode():
        raise HTTPRefusal(415, f"the body must be {wanted}")
    if int(headers.get(b"content-length", b"0")) > limits.bytes:  # the server has checked it
        raise _too_long(limits)
    connection = CONNECTION.get()
    if connection is not None:
        connection.reads_body = True
    body = b""
    try:
        async with asyncio.timeout(limits.seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise HTTPRefusal(400, "the client went away")
                body += message.get("body", b"")
                if len(body) > limits.bytes:
                    raise _too_long(limits)
                if not message.get("more_body", False):
                    return body
    except TimeoutError:
        why = f"the body did not arrive within {limits.seconds:g} seconds"
        raise HTTPRefusal(408, why) from None
    finally:
        if connection is not None:
            connection.reads_body = False


def _too_long(limits: Limits) -> HTTPRefusal:
    why = f"the body is longer than {limits.bytes} bytes"
    return HTTPRefusal(413, why, {"Connection": "close"})
