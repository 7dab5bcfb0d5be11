"""Time limits of connections that uvicorn does not have.

uvicorn waits for ever for the first request of a connection, for the rest of a request's headers
and for a client that does not read its answers, so that clients could hold connections without
cost. It also reads on while requests wait for their turn, so that a client that asks and does not
read could fill the memory. Bodies have a time limit of their own (`read_body`), and idle
connections have uvicorn's ``timeout_keep_alive``.

Only asyncio's interface of protocols is used: a protocol stands between the transport and uvicorn's
and watches the bytes. What they mean it learns from the application, which knows when a request
begins and ends.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from functools import partial
from typing import Any

_TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain\r\ncontent-length: 0\r\n"
    b"connection: close\r\n\r\n"
)
_TOO_MUCH = _TOO_SLOW.replace(b"408 Request Timeout", b"400 Bad Request")
_BYTES_AHEAD = 1 << 16
"""Of further requests, that a client may send before a request is answered."""


class _Transport:
    """What uvicorn gets as transport.

    It sends a response as a whole, since each write costs a system call and may wake the client;
    uvicorn writes head and body separately. And it drops what is written to a client that is gone:
    of several waiting requests uvicorn tells only the last, and such a write would be an error.
    """

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._held: list[bytes] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self._held is not None:
            self._held.append(data)
        elif not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        self.release()
        self._transport.close()

    def hold(self) -> None:
        """Keep what is written until `release`."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        held, self._held = self._held, None
        if held:
            self.write(b"".join(held))


class TimeoutProtocol(asyncio.Protocol):
    """A connection, handled by the protocol ``inner``, that ends when its client is too slow.

    Parameters
    ----------
    inner : type of asyncio.Protocol
    seconds : float
        For a request to begin and its headers to arrive, and for a client to read.
    **params
        Of ``inner``.
    """

    def __init__(self, inner: Any, seconds: float, **params: Any) -> None:
        self._inner = inner(**params)
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._waiting_since: float | None = None
        self._has_begun = False  # whether what arrived meanwhile looks like a request
        self.reads_body = False
        """Whether the application is waiting for the body of the request."""
        self._requests = 0  # begun and not answered
        self._is_busy = False
        self._bytes_ahead = 0
        self._read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request, but not for ever."""
        self._transport = _Transport(transport)
        self._inner.connection_made(self._transport)
        self._waiting_since = self._loop.time()
        self._timer = self._loop.call_later(self._seconds, self._check_time)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._timer.cancel()
        self.resume_writing()
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand bytes on. If they begin a request, wait for its headers, but not for ever."""
        if not self.reads_body:
            # Not the rest of a refused body, nor empty lines.
            self._has_begun = self._has_begun or data[:1].isalpha()
            if self._is_busy:
                self._bytes_ahead += len(data)
            else:
                self._wait()
            if self._bytes_ahead > _BYTES_AHEAD:
                self._close(_TOO_MUCH)
                return
        token = CONNECTION.set(self)  # for the task of the request, which is made here
        self._inner.data_received(data)
        CONNECTION.reset(token)

    def eof_received(self) -> bool | None:
        """Hand on that no more bytes will come."""
        found: bool | None = self._inner.eof_received()
        return found

    def pause_writing(self) -> None:
        """Wait for a client that does not read, but not for ever."""
        self._inner.pause_writing()
        self._read_timer = self._loop.call_later(self._seconds, self._transport.abort)

    def resume_writing(self) -> None:
        """Go on: the client reads, or it is gone."""
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None
        self._inner.resume_writing()

    def begin_request(self) -> None:
        """Note that the headers of a request are there."""
        self._requests += 1
        self._is_busy = True
        self._waiting_since, self._has_begun = None, False

    def begin_response(self) -> None:
        """Note that head and body of the response follow."""
        self._transport.hold()

    def end_request(self) -> None:
        """Note that the request is answered."""
        self._transport.release()
        self._requests -= 1
        self._loop.call_soon(self._check_idle)

    def _check_idle(self) -> None:
        # A waiting request has begun by now: its task was made before the end of the previous one
        # was noted. What else has arrived meanwhile must go on.
        if self._requests == 0:
            self._is_busy = False
            if self._bytes_ahead > 0:
                self._wait()
            self._bytes_ahead = 0

    def _wait(self) -> None:
        if self._waiting_since is None:
            self._waiting_since = self._loop.time()

    def _check_time(self) -> None:
        """Close the connection if it has waited too long; otherwise look again later."""
        left = self._seconds
        if self._waiting_since is not None:
            left += self._waiting_since - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check_time)
            return
        self._close(_TOO_SLOW if self._has_begun else b"")

    def _close(self, last: bytes) -> None:
        """Close the connection, even if the client does not read what was sent."""
        self._transport.write(last)
        self._transport.close()
        self._timer.cancel()
        self._timer = self._loop.call_later(self._seconds, self._transport.abort)


CONNECTION: ContextVar[TimeoutProtocol | None] = ContextVar("swnn_connection", default=None)
"""The connection of the current request; None under another server."""


def limit_time(config: Any, seconds: float) -> None:
    """Let the connections of a server with this `uvicorn.Config` end after ``seconds``."""
    config.load()
    config.http_protocol_class = partial(TimeoutProtocol, config.http_protocol_class, seconds)
