"""The loops of swnn_xp: numba for the CPU, CUDA sources for the GPU. Knows nothing of swnn_xp.

Importing this package imports neither numba nor anything compiled; that happens on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swnn_kernels.ballot import vote_found
    from swnn_kernels.batch import rank, search, search_within
    from swnn_kernels.fixed_point import normalise
    from swnn_kernels.index import InvertedIndex
    from swnn_kernels.opened import OpenedIndex
    from swnn_kernels.session import Session
    from swnn_kernels.warming import warmup

__all__ = [
    "InvertedIndex",
    "OpenedIndex",
    "Session",
    "normalise",
    "rank",
    "search",
    "search_within",
    "vote_found",
    "warmup",
]

_HOMES = {
    "InvertedIndex": "index",
    "OpenedIndex": "opened",
    "Session": "session",
    "normalise": "fixed_point",
    "rank": "batch",
    "search": "batch",
    "search_within": "batch",
    "vote_found": "ballot",
    "warmup": "warming",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
