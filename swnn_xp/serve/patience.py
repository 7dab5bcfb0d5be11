"""How long a connection may take: to begin, to send the headers of a request, to read an answer.

uvicorn waits for ever in all three, so a client could hold connections without cost; and it reads
on while requests wait for their turn, so a client that asks and does not read could fill the
memory. Bodies have their own limit (`read_body`), and idle connections after an answer uvicorn's.
"""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain\r\ncontent-length: 0\r\n"
    b"connection: close\r\n\r\n"
)
_MOST_WAITING = 100  # requests of a connection that are sent before the answer to the first


class PatientProtocol(HttpToolsProtocol):  # type: ignore[misc]
    """uvicorn's protocol, with an end to its patience."""

    patience = 10.0
    """Seconds."""

    def __init__(self, *args: Any, **params: Any) -> None:
        super().__init__(*args, **params)
        self._in_headers = self.within = False
        self._arrival: TimerHandle | None = None
        self._reading: TimerHandle | None = None
        self._answering: Any = None  # the request whose turn it is: uvicorn knows only the last

    def connection_made(self, transport: Transport) -> None:
        """Wait for the first request, but not for ever."""
        super().connection_made(transport)
        self._arrival = self.loop.call_later(self.patience, self._give_up)

        resume = self.flow.resume_reading

        def resume_reading() -> None:
            if not (self.pipeline or transport.is_closing()):
                resume()

        self.flow.resume_reading = resume_reading

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers; tell the request that is being answered that nobody listens."""
        self._stop_waiting()
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; if they are no whole request, wait for the rest, but not for ever."""
        super().data_received(data)
        if (
            (self._in_headers or self._is_forgotten())
            and self._arrival is None
            and not self.transport.is_closing()
        ):
            self._arrival = self.loop.call_later(self.patience, self._give_up)

    def _is_forgotten(self) -> bool:
        """Whether nothing is being answered, and bytes have stopped uvicorn's own timer.

        Bytes that begin no request do that: empty lines, and the rest of a refused body.
        """
        return self.is_answered and self.timeout_keep_alive_task is None

    @property
    def is_answered(self) -> bool:
        """Whether every request of this connection has its response."""
        return self.cycle is None or self.cycle.response_complete

    def on_message_begin(self) -> None:
        """Note that a request has begun."""
        self._in_headers = self.within = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that its headers are there."""
        self._in_headers = False
        self._stop_waiting()
        if len(self.pipeline) >= _MOST_WAITING:
            raise ValueError("too many requests at once")  # becomes a 400, and the connection ends
        super().on_headers_complete()
        if not self.pipeline:
            self._answering = self.cycle

    def on_response_complete(self) -> None:
        """Note whose turn is next."""
        self._answering = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()

    def on_message_complete(self) -> None:
        """Note that it is there as a whole."""
        self.within = False
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Wait for a client that does not read, but not for ever."""
        super().pause_writing()
        if self._reading is None:
            self._reading = self.loop.call_later(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        """Note that the client reads."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        super().resume_writing()

    def _stop_waiting(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    def _give_up(self) -> None:
        self._arrival = None
        if self._in_headers:
            self.transport.write(_TOO_SLOW)
        self.transport.close()
