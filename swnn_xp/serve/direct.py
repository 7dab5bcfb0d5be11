"""Answers to the usual request, one row, straight from the connection.

Most of the time of a small request goes into tasks, events and calls around the answer. So a
request that has arrived as a whole, and needs nothing else than an answer, gets it before the
application is asked; if its body or the model is no good, it gets the refusal. Any other request
takes the ordinary way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from swnn_xp.serve.middleware import allows
from swnn_xp.serve.patience import PatientProtocol
from swnn_xp.serve.security import HEADERS, HTTPOptions
from swnn_xp.serve.service import SHORT_BYTES, Service

_PATH = "/v1/predict"
_BEGINNING = b"POST /v1/predict HTTP/1.1\r\n"
_MOST_BYTES = SHORT_BYTES + (1 << 14)  # of a body and its headers
_JSON = b"application/json"

Answer = Callable[[list[tuple[bytes, bytes]], bytes], tuple[int, bytes] | None]
"""From headers and body to the status and the body of the response."""


def direct_answer(service: Service, options: HTTPOptions) -> Answer | None:
    """Function that answers or refuses a request, or leaves it to the application.

    None where every request needs more than an answer, or another thread.
    """
    if not service.pool.is_inline or options.cors_origins or options.gzip or options.access_log:
        return None
    tokens = options.tokens(service.reload_token)

    def answer(headers: list[tuple[bytes, bytes]], body: bytes) -> tuple[int, bytes] | None:
        began, given = time.perf_counter(), dict(headers)
        if given.get(b"content-type") != _JSON or b"expect" in given:
            return None
        if tokens and not allows(given.get(b"authorization", b""), tokens):
            return None
        found = service.answer_at_once(body)
        if found is not None:
            seconds = time.perf_counter() - began
            service.metrics.count_request(_PATH, found[0], seconds, is_prediction=True)
        return found

    return answer


class _Whole:
    """Takes apart bytes that should be one whole request."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self._begun = self._ended = 0
        self._stays_open = False

    def request(self, data: bytes) -> bool:
        """Whether the bytes are one request on a connection that stays open."""
        self.headers, self.body, self._begun, self._ended = [], b"", 0, 0
        try:
            self._parser.feed_data(data)
            whole = self._begun == self._ended == 1 and self._stays_open
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            whole = False
        if not whole:
            self._parser = httptools.HttpRequestParser(self)
        return whole

    def on_message_begin(self) -> None:
        self._begun += 1

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._stays_open = self._parser.should_keep_alive()  # known only now, not at the end

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self._ended += 1


class DirectProtocol(PatientProtocol):
    """A protocol with a short cut for whole requests."""

    answer: Answer
    heads: tuple[Any, dict[int, bytes]] = (None, {})
    """The date of uvicorn's that they were made with, and heads of responses by status."""

    def __init__(self, *args: Any, **params: Any) -> None:
        super().__init__(*args, **params)
        self._whole, self._used = _Whole(), 0.0

    def data_received(self, data: bytes) -> None:
        """Answer at once what can be; hand on everything else."""
        if (
            len(data) <= _MOST_BYTES
            and data.startswith(_BEGINNING)
            and self._is_idle()
            and self._whole.request(data)
        ):
            found = type(self).answer(self._whole.headers, self._whole.body)
            if found is not None:
                self._stop_waiting()
                self._respond(*found)
                return
        super().data_received(data)

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection; the timer is set again only here, not by every answer."""
        left = self._used + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._set_timer(left)
        else:
            super().timeout_keep_alive_handler()

    def _is_idle(self) -> bool:
        return self.is_answered and not self.within and not self.flow.write_paused

    def _respond(self, status: int, body: bytes) -> None:
        self.transport.write(b"%b%d\r\n\r\n%b" % (self._head(status), len(body), body))
        self.server_state.total_requests += 1
        self._used = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._set_timer(self.timeout_keep_alive)

    def _head(self, status: int) -> bytes:
        """The response up to the length of its body; only the date changes, each second."""
        (made_with, heads), default = self.heads, self.server_state.default_headers
        if made_with is not default:
            heads = {}
            type(self).heads = default, heads
        if status not in heads:
            headers = [*default, *HEADERS, (b"content-type", _JSON)]
            lines = b"".join(b"%b: %b\r\n" % pair for pair in headers)
            heads[status] = STATUS_LINE[status] + lines + b"content-length: "
        return heads[status]

    def _set_timer(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )


def protocol_of(service: Service, options: HTTPOptions) -> type[PatientProtocol]:
    """Protocol for the connections of a service."""
    own: dict[str, Any] = {"patience": service.limits.seconds}
    answer = direct_answer(service, options)
    if answer is None:
        return type("ServiceProtocol", (PatientProtocol,), own)
    return type("ServiceProtocol", (DirectProtocol,), own | {"answer": staticmethod(answer)})
