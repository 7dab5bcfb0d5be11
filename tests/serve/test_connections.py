"""Requests as bytes on a connection: the hot route, and clients that are slow or greedy."""

import asyncio
import contextlib
import json
import socket
from pathlib import Path
from unittest import mock

import pytest
import uvicorn
from starlette.testclient import TestClient

from swnn_xp.serve import Service, create_app
from swnn_xp.serve.security import HEADERS
from swnn_xp.serve.timeouts import limit_time

ROW = {"rows": [{"features": ["red", "two words"]}], "k": 3}


def body_of(request):
    return json.dumps(request).encode()


def raw(request, *headers, path="/v1/predict"):
    body = request if isinstance(request, bytes) else body_of(request)
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Connection:
    """One connection to a running service, on which bytes are sent as they are."""

    def __init__(self, url):
        host, _, port = url.removeprefix("http://").rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=250)
        self.held = b""

    def send(self, data):
        self.socket.sendall(data)

    def answer(self):
        """Status, headers and body of the next response."""
        while b"\r\n\r\n" not in self.held:
            self._more()
        head, _, self.held = self.held.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        length = int(headers.get("content-length", 0))
        while len(self.held) < length:
            self._more()
        body, self.held = self.held[:length], self.held[length:]
        return int(first.split()[1]), headers, json.loads(body or b"null")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _more(self):
        data = self.socket.recv(1 << 16)
        assert data, "closed"
        self.held += data


KIND = "Content-Type: application/json"


@pytest.fixture
def connect():
    with contextlib.ExitStack() as stack:
        yield lambda url: stack.enter_context(Connection(url))


def test_whole_and_split_requests_get_the_same_answer(run, connect, named):
    server = run(named[0])
    connection = connect(server.url)
    whole = raw(ROW, KIND)
    connection.send(whole)
    status, at_once, answer = connection.answer()
    assert status == 200
    connection.send(whole[:60])
    connection.send(whole[60:])
    status, in_parts, again = connection.answer()
    assert (status, again) == (200, answer)
    assert {name for name in at_once if name != "date"} == {n for n in in_parts if n != "date"}
    for name, value in HEADERS:
        assert at_once[name.decode()] == in_parts[name.decode()] == value.decode().lower()
    connection.send(whole * 3)  # pipelined
    assert [connection.answer()[2] for _ in range(3)] == [answer] * 3
    connection.socket.close()
    text = server.get("/metrics")
    assert 'swnn_requests_total{path="/v1/predict",status="200"} 5' in text
    assert "swnn_rows_total 5" in text
    assert "swnn_predict_seconds_count 5" in text


def test_requests_of_all_kinds_share_a_connection(run, connect, named):
    server = run(named[0])
    connection = connect(server.url)
    for request, status in (
        (raw(ROW, KIND), 200),
        (raw(b"{", KIND), 400),
        (raw(ROW, KIND), 200),
        (raw(ROW), 415),
        (raw(ROW, KIND, "Expect: 100-continue"), 200),
        (raw(ROW | {"explain": True}, KIND), 200),
        (raw({"rows": ROW["rows"] * 3}, KIND), 200),
        (raw({"rows": [{"indices": [10**6]}]}, KIND), 422),
        (raw(ROW, KIND, path="/v1/predict?x=1"), 200),
        (raw(ROW, KIND, path="/v1/nothing"), 404),
        (raw(ROW, KIND), 200),
    ):
        connection.send(request)
        found = connection.answer()
        if found[0] == 100:
            found = connection.answer()
        assert found[0] == status, request


def test_a_connection_that_is_to_close_is_closed(run, connect, named):
    connection = connect(run(named[0]).url)
    connection.send(raw(ROW, KIND, "Connection: close"))
    status, headers, _ = connection.answer()
    assert (status, headers["connection"]) == (200, "close")
    assert connection.socket.recv(1) == b""


@pytest.mark.parametrize(
    "bad",
    [
        b"POST /v1/predict HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        b"POST /v1/predict HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/predict HTTP/1.1\r\nContent Length: 2\r\n\r\n{}",
        b"POST /v1/predict HTTP/1.1\r\n\x00\r\n\r\n",
    ],
)
def test_bytes_that_are_no_request_get_400(run, connect, named, bad):
    connection = connect(run(named[0]).url)
    connection.send(bad)
    assert connection.socket.recv(100).startswith(b"HTTP/1.1 400")


def test_a_single_row_is_refused_when_too_many_wait(named):
    service = Service(named[0])
    client = TestClient(create_app(service))
    service.pool.under_way = service.pool.room
    refused = client.post("/v1/predict", json=ROW)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    service.pool.under_way = 0
    assert client.post("/v1/predict", json=ROW).json()["rows"][0]["labels"]
    assert service.pool.under_way == 0


@pytest.mark.parametrize(
    ("request_", "status", "rows"),
    [
        (b"{", 400, 0),
        (ROW | {"k": 10**6}, 422, 0),
        ({"rows": []}, 422, 0),
        ({"rows": [{"indices": [10**6]}]}, 422, 1),
        ({"rows": [{"indices": [1, 1], "values": [1e308, 1e308]}]}, 422, 1),
        ({"rows": [{"indices": [1], "text": "red"}]}, 422, 1),
    ],
)
def test_refusals_are_counted(named, request_, status, rows):
    service = Service(named[0])
    body = request_ if isinstance(request_, bytes) else body_of(request_)
    kind = {"Content-Type": "application/json"}
    response = TestClient(create_app(service)).post("/v1/predict", content=body, headers=kind)
    assert response.status_code == status
    assert list(response.json()) == ["error"]
    assert service.metrics.rows == rows
    assert service.metrics.requests == {("/v1/predict", status): 1}


def test_a_refusal_of_a_request_in_parts_has_the_same_headers(run, connect, named):
    connection = connect(run(named[0]).url)
    bad = raw({"rows": [{"indices": [10**6]}]}, KIND)
    connection.send(bad)
    status, at_once, why = connection.answer()
    connection.send(bad[:60])
    connection.send(bad[60:])
    again, in_parts, why_again = connection.answer()
    assert status == again == 422
    assert why == why_again
    assert at_once | {"date": ""} == in_parts | {"date": ""}


def test_options_do_not_change_the_answer(run, connect, named):
    answers = []
    for options in ((), ("--gzip", "--access-log", "--cors-origin", "*"), ("--threads", 2)):
        connection = connect(run(named[0], *options).url)
        connection.send(raw(ROW, KIND))
        status, _, answer = connection.answer()
        assert status == 200
        answers.append(answer)
    assert answers == answers[:1] * 3


def test_tokens(run, connect, named):
    connection = connect(run(named[0], SWNN_TOKEN="s3cret").url)
    for wrong in ("", "Bearer wrong", "Bearer ", "s3cret"):
        connection.send(raw(ROW, KIND, f"Authorization: {wrong}"))
        assert connection.answer()[0] == 401
    connection.send(raw(ROW, KIND))
    assert connection.answer()[0] == 401
    connection.send(raw(ROW, KIND, "Authorization: Bearer s3cret"))
    assert connection.answer()[0] == 200


def test_a_failing_model_is_an_internal_error(named, monkeypatch):
    service = Service(named[0])
    client = TestClient(create_app(service), raise_server_exceptions=False)

    def fail(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(type(service.current), "answer", fail)
    failed = client.post("/v1/predict", json=ROW)
    assert (failed.status_code, failed.json()) == (500, {"error": "internal error"})
    assert service.metrics.requests == {("/v1/predict", 500): 1}


def closed_within(connection, seconds):
    connection.socket.settimeout(seconds)
    data = b""
    try:
        while more := connection.socket.recv(1 << 16):
            data += more
    except ConnectionResetError:
        pass
    return data


@pytest.mark.parametrize("begin", [b"", b"POST /v1/pre", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_clients_that_do_not_go_on_are_sent_away(run, connect, named, begin):
    connection = connect(run(named[0], "--timeout", "2").url)
    connection.send(begin)
    answer = closed_within(connection, 250)
    assert answer.startswith(b"HTTP/1.1 408" if begin else b"")
    assert bool(answer) == bool(begin)


UNFINISHED = b"POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (raw(ROW, KIND), b"\r\n"),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n"),
        (UNFINISHED, b'"'),  # refused with 415 before its end
    ],
)
def test_bytes_that_begin_no_request_do_not_keep_a_connection(run, connect, named, first, then):
    connection = connect(run(named[0], "--timeout", "2").url)
    connection.send(first)
    assert connection.answer()[0] in (200, 415)
    connection.send(then)
    assert closed_within(connection, 250) == b""


def test_an_answer_is_not_written_to_a_connection_that_is_gone(named):
    """Also if another request, which uvicorn knows as the last one, waits for its turn."""

    async def answered_too_late():
        gone, started = asyncio.Event(), []

        async def answer(body):
            started.append(body)
            await gone.wait()
            return b"late"

        service = Service(named[0])
        service.answer = answer
        config = uvicorn.Config(create_app(service), loop="none", ws="none", log_config=None)
        limit_time(config, 10.0)
        state = uvicorn.server.ServerState()
        protocol = config.http_protocol_class(config=config, server_state=state, app_state={})
        transport = mock.Mock(spec=asyncio.Transport, is_closing=lambda: gone.is_set())
        transport.get_extra_info.return_value = None
        protocol.connection_made(transport)
        protocol.data_received(raw(ROW, KIND) * 2)
        await asyncio.sleep(0.1)
        protocol.connection_lost(None)
        gone.set()
        await asyncio.gather(*state.tasks)
        transport.write.assert_not_called()
        return started

    assert asyncio.run(answered_too_late()) == [body_of(ROW)]


def test_clients_that_do_not_read_are_sent_away(run, connect, named):
    server = run(named[0], "--timeout", "2", "--max-k", "100")
    connection = connect(server.url)
    connection.socket.settimeout(250)
    page = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"

    def send_for_ever():
        while True:
            connection.send(page * 100)

    before = memory_of(server.process.pid)
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        send_for_ever()
    assert '"status":"ok"' in server.get("/healthz")
    assert memory_of(server.process.pid) < before + (100 << 20)


def memory_of(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) << 10


def test_few_requests_may_wait_for_their_turn(run, connect, named):
    server = run(named[0])
    connection = connect(server.url)
    health = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    connection.send(health * 100)
    assert [connection.answer()[0] for _ in range(100)] == [200] * 100
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        connection.send(health * 50_000)  # far more than the 64 KiB that may wait
    assert closed_within(connection, 250).count(b"HTTP/1.1 200") < 50_000
