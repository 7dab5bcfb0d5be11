"""The short cut for whole requests: the same answers, and the ordinary way for all else."""

import asyncio
import contextlib
import json
import socket
from pathlib import Path
from unittest import mock

import pytest
import uvicorn
from starlette.testclient import TestClient
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from swnn_xp.serve import HTTPOptions, Limits, Service, create_app
from swnn_xp.serve.direct import direct_answer
from swnn_xp.serve.patience import PatientProtocol
from swnn_xp.serve.security import HEADERS

ROW = {"rows": [{"features": ["red", "two words"]}], "k": 3}
JSON = [(b"content-type", b"application/json")]


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
    status, direct, answer = connection.answer()
    assert status == 200
    connection.send(whole[:60])
    connection.send(whole[60:])
    status, ordinary, again = connection.answer()
    assert (status, again) == (200, answer)
    assert {name for name in direct if name != "date"} == {n for n in ordinary if n != "date"}
    for name, value in HEADERS:
        assert direct[name.decode()] == ordinary[name.decode()] == value.decode().lower()
    connection.send(whole * 3)  # pipelined
    assert [connection.answer()[2] for _ in range(3)] == [answer] * 3
    connection.socket.close()
    text = server.get("/metrics")
    assert 'swnn_requests_total{path="/v1/predict",status="200"} 5' in text
    assert "swnn_rows_total 5" in text
    assert "swnn_predict_seconds_count 5" in text


def test_ways_alternate_on_one_connection(run, connect, named):
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


def test_what_is_answered_at_once(named):
    service = Service(named[0], limits=Limits(bytes=300))
    answer = direct_answer(service, HTTPOptions())
    status, right = answer(JSON, body_of(ROW))
    assert status == 200
    assert json.loads(right)["rows"][0]["labels"]
    assert answer([(b"content-type", b"text/plain")], body_of(ROW)) is None
    assert answer([*JSON, (b"expect", b"100-continue")], body_of(ROW)) is None
    for other in (
        {"rows": ROW["rows"] * 2},
        ROW | {"explain": True},
        {"rows": [{"features": ["x" * 300]}]},
    ):
        assert answer(JSON, body_of(other)) is None
    service.pool.under_way = service.pool.room
    assert answer(JSON, body_of(ROW)) is None
    service.pool.under_way = 0
    assert service.metrics.rows == 1


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
def test_both_ways_refuse_alike(named, request_, status, rows):
    service, ordinary = Service(named[0]), Service(named[0])
    body = request_ if isinstance(request_, bytes) else body_of(request_)
    found = direct_answer(service, HTTPOptions())(JSON, body)
    kind = {"Content-Type": "application/json"}
    response = TestClient(create_app(ordinary)).post("/v1/predict", content=body, headers=kind)
    assert found == (response.status_code, response.content) == (status, response.content)
    for each in (service.metrics, ordinary.metrics):
        assert (each.rows, each.requests) == (rows, {("/v1/predict", status): 1})


def test_a_refusal_has_the_same_headers_on_both_ways(run, connect, named):
    connection = connect(run(named[0]).url)
    bad = raw({"rows": [{"indices": [10**6]}]}, KIND)
    connection.send(bad)
    status, direct, why = connection.answer()
    connection.send(bad[:60])
    connection.send(bad[60:])
    again, ordinary, ordinary_why = connection.answer()
    assert status == again == 422
    assert why == ordinary_why
    assert direct | {"date": ""} == ordinary | {"date": ""}


def test_what_never_is(named):
    for options in ({"gzip": True}, {"access_log": True}, {"cors_origins": ("*",)}):
        assert direct_answer(Service(named[0]), HTTPOptions(**options)) is None
    assert direct_answer(Service(named[0], threads=2), HTTPOptions()) is None


def test_tokens(named):
    answer = direct_answer(Service(named[0]), HTTPOptions(token="s3cret"))
    for wrong in (b"", b"Bearer wrong", b"Bearer ", b"s3cret"):
        assert answer([*JSON, (b"authorization", wrong)], body_of(ROW)) is None
    assert answer(JSON, body_of(ROW)) is None
    assert answer([*JSON, (b"authorization", b"Bearer s3cret")], body_of(ROW)) is not None


def test_a_failing_model_is_left_to_the_ordinary_way(named, monkeypatch):
    service = Service(named[0])
    answer = direct_answer(service, HTTPOptions())

    def fail(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(type(service.current), "answer", fail)
    assert answer(JSON, body_of(ROW)) is None
    assert service.metrics.rows == 0


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


def test_uvicorn_still_has_what_the_protocols_rely_on():
    """Its private interfaces: where this fails, read `patience.py` and `direct.py` again."""
    config = uvicorn.Config(lambda *_: None, loop="none", ws="none", log_config=None)
    state, loop = uvicorn.server.ServerState(), asyncio.new_event_loop()
    protocol = HttpToolsProtocol(config, state, {}, loop)
    loop.close()
    flow = FlowControl(None)
    relied_on = [
        (protocol, "cycle flow pipeline server_state timeout_keep_alive timeout_keep_alive_task "
        "transport loop data_received on_message_begin on_headers_complete on_message_complete "
        "on_response_complete pause_writing resume_writing timeout_keep_alive_handler"),
        (state, "default_headers total_requests"),
        (flow, "write_paused resume_reading"),
    ]  # fmt: skip
    missing = [
        f"{type(owner).__name__}.{name}"
        for owner, names in relied_on
        for name in names.split()
        if not hasattr(owner, name)
    ]
    assert not missing


def test_an_answer_is_not_written_to_a_connection_that_is_gone():
    """Also if another request, which uvicorn knows as the last one, waits for its turn."""

    async def answered_too_late() -> list[int]:
        gone, started = asyncio.Event(), []

        async def app(scope, receive, send):
            started.append(1)
            await gone.wait()
            await send({"type": "http.response.start", "status": 200})
            await send({"type": "http.response.body", "body": b"late"})

        config = uvicorn.Config(app, loop="none", ws="none", log_config=None)
        config.load()
        state = uvicorn.server.ServerState()
        protocol = PatientProtocol(config, state, {})
        transport = mock.Mock(spec=asyncio.Transport, is_closing=lambda: gone.is_set())
        transport.get_extra_info.return_value = None
        protocol.connection_made(transport)
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
        await asyncio.sleep(0)
        protocol.connection_lost(None)
        gone.set()
        await asyncio.gather(*state.tasks)
        transport.write.assert_not_called()
        return started

    assert asyncio.run(answered_too_late()) == [1]


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
    connection.send(health * 5000)
    assert b"HTTP/1.1 400" in closed_within(connection, 250)
