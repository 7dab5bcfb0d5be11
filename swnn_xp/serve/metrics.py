"""What can be observed of the service: counts for Prometheus, and the access log.

Only the event loop counts requests; reloads are counted under the reload lock.
"""

from __future__ import annotations

import re
import secrets
import sys
from bisect import bisect_left
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from swnn_xp.serve.wire import encode

# A row takes some tenths of a millisecond, answered in the event loop itself.
_BOUNDS = (
    0.0001, 0.00015, 0.0002, 0.0003, 0.0004, 0.0005, 0.00075, 0.001, 0.0025, 0.005, 0.01, 0.025,
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
)  # fmt: skip


class Metrics:
    """Counts since the start."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.rows = 0
        self.reloads = self.failed_reloads = 0
        self._buckets = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0

    def count_request(self, path: str, status: int, seconds: float, *, is_prediction: bool) -> None:
        """Count a request; predictions are also timed."""
        self.requests[path, status] += 1
        if is_prediction:
            self._buckets[bisect_left(_BOUNDS, seconds)] += 1
            self._seconds += seconds

    def text(self, *, waiting_or_running: int, room: int, model: int, model_rows: int) -> str:
        """All figures as text, including those that the caller knows."""
        lines = _metric_header("swnn_requests_total", "counter", "Requests by path and status.")
        lines += [
            f'swnn_requests_total{{path="{path}",status="{status}"}} {count}'
            for (path, status), count in sorted(self.requests.items())
        ]
        lines += _metric_header("swnn_predict_seconds", "histogram", "Time to answer a prediction.")
        total = 0
        for bound, count in zip([*map(str, _BOUNDS), "+Inf"], self._buckets, strict=True):
            total += count
            lines.append(f'swnn_predict_seconds_bucket{{le="{bound}"}} {total}')
        lines += [f"swnn_predict_seconds_sum {self._seconds:.6f}"]
        lines += [f"swnn_predict_seconds_count {total}"]
        for name, kind, value, meaning in (
            ("swnn_rows_total", "counter", self.rows, "Rows in all requests."),
            ("swnn_reloads_total", "counter", self.reloads, "Times the model was replaced."),
            (
                "swnn_failed_reloads_total",
                "counter",
                self.failed_reloads,
                "Times the model could not be replaced.",
            ),
            ("swnn_waiting_or_running", "gauge", waiting_or_running, "Requests under way."),
            ("swnn_room", "gauge", room, "Requests that may be under way at once."),
            ("swnn_model", "gauge", model, "Number of the model in use, from 1."),
            ("swnn_model_rows", "gauge", model_rows, "Training rows of the model in use."),
        ):
            lines += [*_metric_header(name, kind, meaning), f"{name} {value}"]
        return "\n".join(lines) + "\n"


def _metric_header(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]


REQUEST_ID = b"x-request-id"
_USABLE = re.compile(rb"[A-Za-z0-9._-]{1,100}")


def request_id(scope: Any) -> bytes:
    """Id of a request: the client's ``X-Request-ID`` if it is short and plain, else a new one."""
    given = dict(scope["headers"]).get(REQUEST_ID, b"")
    return given if _USABLE.fullmatch(given) else secrets.token_hex(8).encode()


def log_request(scope: Any, id_: bytes, status: int, seconds: float) -> None:
    """Write the line of a request that has ended."""
    client = scope.get("client")
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "request_id": id_.decode(),
        "client": client[0] if client else None,
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "duration_ms": round(1e3 * seconds, 3),
    }
    sys.stdout.write(encode(line).decode() + "\n")
    sys.stdout.flush()
