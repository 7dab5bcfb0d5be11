"""Clients of a service, honest and not: each is a loop that reports what it was answered."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field

FINE = {200}
REFUSED = {400, 401, 404, 405, 408, 413, 415, 422, 431}
BUSY = {503, 504}
STOPPED, AFTER_STOP = 1.0, 10.0
"""Seconds without a turn that mean a stop, by a signal or a busy machine; and until all is well."""


@dataclass
class Target:
    """Where the service is, what it should answer, and what it did."""

    host: str
    port: int
    token: str
    reload_token: str
    questions: list[bytes]
    """Bodies of one row each."""
    right: list[list[dict]]
    """Rows of the right answers: of each model that is reloaded, for each question."""
    max_bytes: int
    until: float = 0.0
    statuses: Counter = field(default_factory=Counter)
    """By client and status."""
    times: list[float] = field(default_factory=list)
    """Seconds of the honest single requests."""
    faults: list[str] = field(default_factory=list)
    seen: float = 0.0
    """When this process was last known to run."""
    excused_until: float = 0.0
    """Until then, time-outs of the service are no faults: this process and it were stopped."""

    def beat(self) -> None:
        """Note that this process runs, and if it has not for a while."""
        now = time.monotonic()
        if now - self.seen > STOPPED:
            self.excused_until = now + AFTER_STOP
        self.seen = now

    def dropped(self, who: str, error: Exception) -> None:
        """Count a connection that has ended too soon: a fault, but for one after a stop."""
        self.beat()
        if self.seen < self.excused_until:
            self.statuses["after a stop", 0] += 1
        else:
            self.faults.append(f"{who}: {error!r}")

    def note(self, who: str, status: int, expected: set[int]) -> None:
        """Count an answer; one that is not expected is a fault."""
        self.statuses[who, status] += 1
        if status not in expected:
            self.faults.append(f"{who}: {status}")


class Connection:
    """A connection that sends bytes and reads responses."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def __aenter__(self) -> Connection:
        where = self._target.host, self._target.port
        self.reader, self.writer = await asyncio.open_connection(*where)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    async def ask(self, data: bytes) -> tuple[int, bytes]:
        """Send a request and read its response."""
        self.writer.write(data)
        return await self.answer()

    async def answer(self) -> tuple[int, bytes]:
        """Status and body of the next response."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return int(lines[0].split()[1]), body


def post(target: Target, body: bytes, path: str = "/v1/predict", token: str | None = None) -> bytes:
    """A request as bytes."""
    given = target.token if token is None else token
    head = f"POST {path} HTTP/1.1\r\nHost: soak\r\nAuthorization: Bearer {given}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def honest(target: Target, rng: random.Random) -> None:
    """Asks for single rows, one after the other, and checks each answer."""
    async with Connection(target) as connection:
        for _ in range(rng.randrange(50, 2000)):
            if time.monotonic() > target.until:
                return
            number = rng.randrange(len(target.questions))
            began = time.perf_counter()
            status, body = await connection.ask(post(target, target.questions[number]))
            target.times.append(time.perf_counter() - began)
            target.note("honest", status, FINE | BUSY)
            if status == 200:
                check(target, number, json.loads(body))


def check(target: Target, number: int, answer: dict) -> None:
    """An answer must be that of one of the models."""
    if all(answer["rows"] != right[number] for right in target.right):
        target.faults.append(f"wrong answer to question {number}")


async def batches(target: Target, rng: random.Random) -> None:
    """Asks for many rows at once, or for explanations."""
    rows = [json.loads(body)["rows"][0] for body in rng.choices(target.questions, k=40)]
    request = {"rows": rows[:3], "explain": True} if rng.random() < 0.5 else {"rows": rows}
    async with Connection(target) as connection:
        status, body = await connection.ask(post(target, json.dumps(request).encode()))
        target.note("batches", status, FINE | BUSY)
        if status == 200 and len(json.loads(body)["rows"]) != len(request["rows"]):
            target.faults.append("a batch lacks rows")
    await asyncio.sleep(0.2)


async def slow_sender(target: Target, rng: random.Random) -> None:
    """Sends a request a few bytes at a time, or not to its end."""
    data = post(target, rng.choice(target.questions))
    async with Connection(target) as connection:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            for first in range(0, rng.randrange(len(data)), 20):
                connection.writer.write(data[first : first + 20])
                await connection.writer.drain()
                await asyncio.sleep(0.05)
            status, _ = await connection.answer()
            target.note("slow senders", status, FINE | REFUSED)  # some are just in time


async def slow_reader(target: Target, rng: random.Random) -> None:
    """Asks and asks, and reads nothing."""
    data = post(target, rng.choice(target.questions))
    async with Connection(target) as connection:
        connection.writer.transport.pause_reading()
        with contextlib.suppress(OSError):
            for _ in range(50):
                connection.writer.write(data * 20)
                if connection.writer.transport.get_write_buffer_size() > 1 << 20:
                    break
                await asyncio.sleep(0.02)
            await asyncio.sleep(rng.random() * 4)
        connection.writer.transport.abort()
    target.statuses["slow readers", 0] += 1


async def vanishing(target: Target, rng: random.Random) -> None:
    """Goes away in the middle of a request."""
    data = post(target, rng.choice(target.questions))
    async with Connection(target) as connection:
        connection.writer.write(data[: rng.randrange(len(data))])
        connection.writer.transport.abort()
    target.statuses["vanishing", 0] += 1
    await asyncio.sleep(0.02)


async def oversized(target: Target, rng: random.Random) -> None:
    """Announces or sends more than is allowed."""
    head = f"POST /v1/predict HTTP/1.1\r\nHost: soak\r\nAuthorization: Bearer {target.token}\r\n"
    head += "Content-Type: application/json\r\n"
    async with Connection(target) as connection:
        if rng.random() < 0.5:
            head += f"Content-Length: {target.max_bytes + rng.randrange(1, 10**12)}\r\n\r\n"
            connection.writer.write(head.encode() + b" " * 1000)
        else:
            connection.writer.write((head + "Transfer-Encoding: chunked\r\n\r\n").encode())
            with contextlib.suppress(OSError):
                for _ in range(2 + target.max_bytes // 10_000):
                    connection.writer.write(b"2710\r\n" + b" " * 10_000 + b"\r\n")
                    await connection.writer.drain()
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            status, _ = await connection.answer()
            target.note("oversized", status, {413})
    await asyncio.sleep(0.05)


def damaged_body(target: Target, rng: random.Random) -> bytes:
    """A body that is no good request, or hardly one."""
    body = bytearray(rng.choice(target.questions))
    for _ in range(rng.randrange(1, 6)):
        body[rng.randrange(len(body))] = rng.randrange(256)
    return rng.choice(
        [
            bytes(body),
            bytes(body[: rng.randrange(len(body))]),
            b"[" * rng.randrange(1, 5000),
            b'{"rows": [{"indices": [' + b"9" * rng.randrange(1, 400) + b"]}]}",
            b'{"rows": [{"features": {"a": 1e400}}], "k": 99999999999999999999}',
            b'{"rows": [{"text": "\\ud800"}]}',
            rng.randbytes(rng.randrange(1, 300)),
            b"",
        ]
    )


async def malformed(target: Target, rng: random.Random) -> None:
    """Sends bad bodies in good requests, or bad requests."""
    async with Connection(target) as connection:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            if rng.random() < 0.3:
                data = bytearray(post(target, rng.choice(target.questions)))
                for _ in range(rng.randrange(1, 4)):
                    data[rng.randrange(200)] = rng.randrange(256)
                connection.writer.write(bytes(data))
                connection.writer.write_eof()
                status, _ = await connection.answer()
                target.note("bad requests", status, FINE | REFUSED | BUSY)
                return
            for _ in range(20):
                status, _ = await connection.ask(post(target, damaged_body(target, rng)))
                target.note("bad bodies", status, FINE | REFUSED | BUSY)


async def guessing(target: Target, rng: random.Random) -> None:
    """Guesses tokens."""
    async with Connection(target) as connection:
        for _ in range(20):
            path = rng.choice(["/v1/predict", "/v1/reload", "/v1/model", "/metrics"])
            guess = rng.choice([target.token[:-1], "", "x" * rng.randrange(1, 3000), "ä", "0"])
            body = rng.choice(target.questions)
            status, _ = await connection.ask(post(target, body, path, guess))
            target.note("guessing tokens", status, {401})
    await asyncio.sleep(0.05)


async def reloading(target: Target, rng: random.Random) -> None:
    """Reloads the model."""
    async with Connection(target) as connection:
        data = post(target, b"", "/v1/reload", target.reload_token)
        status, _ = await connection.ask(data)
        target.note("reloads", status, {200, 409})
    await asyncio.sleep(rng.random() * 3)


async def watching(target: Target, rng: random.Random) -> None:
    """Looks at pages and counts."""
    async with Connection(target) as connection:
        for path in ("/healthz", "/readyz", "/metrics", "/v1/model", "/", "/nowhere"):
            head = f"GET {path} HTTP/1.1\r\nHost: soak\r\nAuthorization: Bearer {target.token}"
            status, _ = await connection.ask(f"{head}\r\n\r\n".encode())
            target.note("watching", status, FINE | BUSY | {404})
    await asyncio.sleep(0.5)


CLIENTS = {
    honest: 4,
    batches: 1,
    slow_sender: 6,
    slow_reader: 2,
    vanishing: 1,
    oversized: 1,
    malformed: 2,
    guessing: 1,
    reloading: 1,
    watching: 1,
}
"""How many of each there are at a time."""


async def abuse(target: Target, seconds: float, seed: int) -> None:
    """Let all clients loose for a while."""
    target.until = time.monotonic() + seconds

    async def again_and_again(client, number: int) -> None:
        rng = random.Random(f"{seed} {client.__name__} {number}")
        while time.monotonic() < target.until:
            try:
                await client(target, rng)
            except (OSError, asyncio.IncompleteReadError) as error:
                if client in (honest, batches, watching, guessing, reloading):
                    target.dropped(client.__name__, error)
                    await asyncio.sleep(0.1)

    async def beating() -> None:
        while time.monotonic() < target.until:
            target.beat()
            await asyncio.sleep(0.1)

    target.seen = time.monotonic()
    loops = [again_and_again(client, i) for client, n in CLIENTS.items() for i in range(n)]
    await asyncio.gather(beating(), *loops)
