"""Backends: the machinery that runs search and vote, and the one table of what each can do."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import warnings
from dataclasses import dataclass
from typing import Any

from swnn_kernels.records import Settings
from swnn_xp.backends.index import DEFAULT_OPTIONS, Index, Options
from swnn_xp.backends.placement import DevicePlacement, Placement
from swnn_xp.rows.input_kind import input_kind

__all__ = [
    "BACKENDS",
    "DEFAULT_OPTIONS",
    "Backend",
    "DevicePlacement",
    "Index",
    "Options",
    "Placement",
    "Settings",
    "get_backend",
    "resolve",
]


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
        Types of devices it runs on.
    accepts : tuple of str
        Libraries whose matrices it takes as they are, named as `swnn_xp.rows.input_kind` names
        them. Results belong to the library that the queries came from.
    reference : bool
        Made to be read and compared with, not to be fast: benchmarks give it fewer queries.
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
    reference: bool = False

    def unusable(self) -> str | None:
        """Say in one line why the backend can't be used here, or None."""
        absent = [module for module in self.needs if importlib.util.find_spec(module) is None]
        if absent:
            return f"needs {', '.join(absent)}: {self.install}"
        try:
            return self._index_class().unusable()
        except ImportError as error:
            return f"can't be imported: {str(error).splitlines()[0]}"

    def load(self) -> type[Index]:
        """Import the backend's index class."""
        if reason := self.unusable():
            raise ImportError(f"backend '{self.name}' {reason}")
        return self._index_class()

    def _index_class(self) -> type[Index]:
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
        Backend(
            name="cupy",
            index="swnn_xp.backends.cupy_:CupyIndex",
            needs=("cupy",),
            install="pip install 'swnn-xp[cupy12]' (CUDA 12) or 'swnn-xp[cupy13]' (CUDA 13)",
            devices=("cuda",),
            accepts=("numpy", "scipy", "cupy"),
            summary="CUDA kernels over postings lists, or cuSPARSE products if memory is short",
        ),
        Backend(
            name="torch",
            index="swnn_xp.backends.torch_:TorchIndex",
            needs=("torch",),
            install="pip install 'swnn-xp[torch]'",
            devices=("cpu", "cuda", "others with float64 and int64"),
            accepts=("numpy", "scipy", "torch"),
            summary="sparse CSR products in torch",
        ),
        Backend(
            name="array-api",
            index="swnn_xp.backends.array_api:ArrayApiIndex",
            needs=("array_api_compat",),
            install="pip install swnn-xp",
            devices=("whatever the namespace has",),
            accepts=("numpy", "scipy", "cupy", "torch", "array-api"),
            summary="standard array-API functions only, on dense arrays of any namespace",
            reference=True,
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
    """Turn ``"auto"`` into the backend that fits the input; other names stand for themselves.

    CuPy arrays go to cupy, torch tensors to torch, NumPy and SciPy to numba (to numpy, with a
    warning, where numba can't be used), and arrays of any other namespace to array-api: data is
    never moved to another library or device unasked.

    Examples
    --------
    >>> resolve("auto", [[1, 2]]).name
    'numba'
    """
    if name != "auto":
        return get_backend(name)
    kind = input_kind(X)
    return BACKENDS[kind] if kind in ("cupy", "torch", "array-api") else _host_backend()


def _host_backend() -> Backend:
    if (reason := BACKENDS["numba"].unusable()) is None:
        return BACKENDS["numba"]
    _warn_once(reason)
    return BACKENDS["numpy"]


@functools.cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"backend 'numba' {reason}; using 'numpy', which gives the same answers but is slower",
        RuntimeWarning,
        stacklevel=2,
    )
