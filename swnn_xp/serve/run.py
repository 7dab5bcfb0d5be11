"""Run the service until a signal stops it."""

from __future__ import annotations

import contextlib
import gc
import signal
import socket
import threading

import uvicorn

from swnn_xp.serve.app import create_app
from swnn_xp.serve.security import HTTPOptions
from swnn_xp.serve.service import Service
from swnn_xp.serve.timeouts import limit_time


def serve(
    service: Service,
    host: str = "127.0.0.1",
    port: int = 8000,
    options: HTTPOptions = HTTPOptions(),  # noqa: B008 (it never changes)
) -> None:
    """Serve until SIGTERM or SIGINT, which let running requests finish; SIGHUP reloads the model.

    Parameters
    ----------
    service : Service
    host, port : str, int
        Where to listen; port 0 picks a free port. The address is printed.
    options : HTTPOptions

    Examples
    --------
    >>> import tempfile
    >>> from swnn_xp import SWNNClassifier
    >>> from swnn_xp.serve import Service, serve
    >>> folder = tempfile.mkdtemp()
    >>> SWNNClassifier().fit([[1, 1, 0], [0, 1, 1]], [[1, 0], [0, 1]]).save(folder)
    >>> serve(Service(folder), port=70000)
    Traceback (most recent call last):
    ValueError: port must be within 0..65535, got 70000
    """
    listener = _listen(host, port)
    config = uvicorn.Config(
        create_app(service, options),
        loop="uvloop",
        http="httptools",
        ws="none",
        proxy_headers=options.access_log,  # only that log names clients
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=int(service.limits.seconds) + 5,
    )
    limit_time(config, service.limits.seconds)
    previous = signal.signal(signal.SIGHUP, lambda *_: _in_a_thread(service))
    # A full garbage collection visits everything imported and stops all answers for a tenth of a
    # second. What exists now stays; a replaced model is in no reference cycle.
    gc.collect()
    gc.freeze()
    try:
        where = f"[{host}]" if ":" in host else host
        print(f"serving on http://{where}:{listener.getsockname()[1]}", flush=True)
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        gc.unfreeze()
        signal.signal(signal.SIGHUP, previous)
        listener.close()


def _in_a_thread(service: Service) -> None:
    # Not in the signal handler: the event loop would stall while the model is opened.
    threading.Thread(target=service.reload_quietly, name="swnn-reload").start()


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:  # getaddrinfo would take the remainder
        raise ValueError(f"port must be within 0..65535, got {port}")
    with contextlib.ExitStack() as stack:
        try:
            family, socket_type, protocol, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            listener = stack.enter_context(socket.socket(family, socket_type, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(2048)
        except OSError as error:
            raise ValueError(f"can't listen on {host} port {port}: {error}") from None
        stack.pop_all()
        return listener
