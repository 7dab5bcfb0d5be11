"""Backends: the machinery that runs search and vote, and the one table of what each can do."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

from swnn_xp.backends._base import Index

__all__ = ["BACKENDS", "Backend", "Index", "get_backend", "resolve"]


@dataclass(frozen=True)
class Backend:
    """One row of the capability table.

    Attributes
    ----------
    name : str
        What users pass as ``backend=``.
    index : str
        ``module:class`` of its `Index`.
    needs : tuple of str
        Modules that must be importable.
    install : str
        What to install when one of them is missing.
    devices : tuple of str
        Kinds of devices it runs on.
    accepts : tuple of str
        Kinds of input it takes without a copy to the host.
    summary : str
        One line for people.
    """

    name: str
    index: str
    needs: tuple[str, ...]
    install: str
    devices: tuple[str, ...]
    accepts: tuple[str, ...]
    summary: str

    def missing(self) -> str | None:
        """Tell in one line why the backend can't be used here, or None."""
        absent = [module for module in self.needs if importlib.util.find_spec(module) is None]
        return f"needs {', '.join(absent)}: {self.install}" if absent else None

    def load(self) -> type[Index]:
        """Import the backend's index class."""
        if reason := self.missing():
            raise ImportError(f"backend '{self.name}' {reason}")
        module, _, name = self.index.partition(":")
        index: type[Index] = getattr(importlib.import_module(module), name)
        return index


BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (
        Backend(
            name="numba",
            index="swnn_xp.backends.numba_:NumbaIndex",
            needs=("numba",),
            install="pip install swnn-xp",
            devices=("cpu",),
            accepts=("numpy", "scipy"),
            summary="compiled inverted index, the default on a CPU; real-time sessions",
        ),
        Backend(
            name="numpy",
            index="swnn_xp.backends.numpy_:NumpyIndex",
            needs=("numpy", "scipy"),
            install="pip install swnn-xp",
            devices=("cpu",),
            accepts=("numpy", "scipy"),
            summary="sparse matrix products in SciPy, the array-API algorithm on NumPy",
        ),
    )
}


def get_backend(name: str) -> Backend:
    """Look a backend up by name."""
    if name not in BACKENDS:
        known = ", ".join(["auto", *BACKENDS])
        raise ValueError(f"backend must be one of {known}; got {name!r}")
    return BACKENDS[name]


def resolve(name: str, X: Any = None) -> Backend:
    """Turn ``"auto"`` into the backend that fits the input; other names stand for themselves."""
    if name != "auto":
        return get_backend(name)
    return BACKENDS["numba"]
