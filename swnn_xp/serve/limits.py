"""Limits of requests."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Limits:
    """Bounds of requests, each at least 1 (``seconds`` may be less).

    Examples
    --------
    >>> from swnn_xp.serve import Limits
    >>> Limits(rows=10)
    Limits(bytes=4194304, rows=10, features=10000, k=100, explained=100, queue=64, seconds=10.0)
    """

    bytes: int = 4 << 20
    """Of the body of a request."""
    rows: int = 256
    """Of a request."""
    features: int = 10_000
    """Of a row."""
    k: int = 100
    """Labels per row."""
    explained: int = 100
    """Labels to explain per request, over all its rows."""
    queue: int = 64
    """Requests that wait for a thread."""
    seconds: float = 10.0
    """For the body to arrive, and again for the response."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < math.inf or (field.name != "seconds" and value < 1):
                raise ValueError(
                    f"the limit of {field.name} must be positive and finite, got {value}"
                )
