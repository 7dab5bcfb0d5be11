"""The loops of swnn_xp: numba for the CPU, CUDA sources for the GPU. Knows nothing of swnn_xp.

Importing this package imports neither numba nor anything compiled; that happens on first use.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swnn_kernels._numba.decorators import compile_timer
    from swnn_kernels.answer.batch import rank, search
    from swnn_kernels.answer.session import Session
    from swnn_kernels.fixed_point import quantise
    from swnn_kernels.index.hybrid import HybridIndex, UntrustedIndex
    from swnn_kernels.records import QuantisedRows, Settings
    from swnn_kernels.vote import Labels, vote_batch
    from swnn_kernels.warming import warmup

__all__ = [
    "HybridIndex",
    "Labels",
    "QuantisedRows",
    "Session",
    "Settings",
    "UntrustedIndex",
    "available",
    "compile_timer",
    "quantise",
    "rank",
    "search",
    "search_capped",
    "shortlist",
    "vote_batch",
    "warmup",
]

_HOMES = {
    "HybridIndex": "index.hybrid",
    "Labels": "vote",
    "QuantisedRows": "records",
    "Session": "answer.session",
    "Settings": "records",
    "UntrustedIndex": "index.hybrid",
    "compile_timer": "_numba.decorators",
    "quantise": "fixed_point",
    "rank": "answer.batch",
    "search": "answer.batch",
    "search_capped": "answer.batch",
    "shortlist": "answer.batch",
    "vote_batch": "vote",
    "warmup": "warming",
}

_WITHOUT_NUMBA = {"records"}  # of the homes


@cache
def available() -> str | None:
    """Return why the kernels cannot run here, or None if they can; found out once.

    Examples
    --------
    >>> available()
    """
    try:
        import_module(f"{__name__}._numba")
    except ImportError as error:
        return str(error)
    return None


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _HOMES[name] not in _WITHOUT_NUMBA and (reason := available()):
        raise ImportError(reason)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
