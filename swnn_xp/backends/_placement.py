"""Where the arrays of a model live, and how data gets there and back: here, the host."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from swnn_xp._checks import check_width
from swnn_xp.rows.canonical import canonical_rows, to_csr
from swnn_xp.rows.input_kind import input_kind, is_host
from swnn_xp.rows.quantise import quantise_rows
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows

Block = TypeVar("Block")


def is_cpu(device: Any) -> bool:
    """Whether a user's word for a device, of any type, leaves data on the host."""
    return device is None or (isinstance(device, str) and device == "cpu")


class Placement:
    """The host's memory; `DevicePlacement` is the base of all others.

    Parameters
    ----------
    backend : str
        Name of the backend, for messages.
    device : optional
        What the user calls the device.
    """

    out_of_memory: ClassVar[tuple[type[Exception], ...]] = (MemoryError,)

    def __init__(self, backend: str, device: Any = None) -> None:
        if not is_cpu(device):
            raise ValueError(f"backend {backend!r} runs on the CPU, not on device {device!r}")
        self.backend = backend
        self.device = None

    @classmethod
    def find(cls, backend: str, device: Any = None, X: Any = None) -> Self:
        """Choose a placement: the device that the user names, else the one X is on."""
        return cls(backend, device)

    def moved(self, device: Any) -> Self:
        """Placement on the device that the user names; itself if it is there already."""
        type(self)(self.backend, device)
        return self

    def prepare(
        self, X: Any, name: str = "X", feature_weights: NDArray[np.float64] | None = None
    ) -> QuantisedRows:
        """Turn a matrix into canonical quantised rows that are placed here.

        Feature weights, on the host, are applied to the values before they are quantised.
        """
        if not is_host(X):
            kind = input_kind(X)
            what = f"a {kind} array" if kind != "array-api" else f"of type {type(X).__module__}"
            raise ValueError(
                f"{name} is {what} and backend {self.backend!r} takes NumPy and SciPy; "
                f"backend={kind!r} takes it as it is"
            )
        return host_quantised_rows(X, name, feature_weights)

    def rows(self, rows: QuantisedRows) -> QuantisedRows:
        """Bring rows here, unless they are."""
        return rows

    def labels(self, labels: LabelRows) -> Any:
        """Prepare label rows from the host for votes; a model does it once and keeps the result."""
        return labels

    def to_device(self, array: Any) -> Array:
        """Bring an array from the host here."""
        return array

    def current(self) -> contextlib.AbstractContextManager[Any]:
        """Make the device the current one, in libraries that have a current device."""
        return contextlib.nullcontext()

    def release(self) -> None:
        """Return cached memory before another try with a smaller block."""

    def in_blocks(self, total: int, step: int, work: Callable[[int, int], Block]) -> list[Block]:
        """Call ``work(start, stop)`` block by block; where memory runs out, halve the block."""
        blocks: list[Block] = []
        start, step = 0, max(1, min(step, total))
        while start < total or not blocks:
            stop = min(start + step, total)
            try:
                blocks.append(work(start, stop))
            except self.out_of_memory:
                if step == 1:
                    raise
                step //= 2
                self.release()
            else:
                start = stop
        return blocks

    def as_input_kind(self, X: Any, *arrays: Array) -> tuple[Array, ...]:
        """Return arrays of the library that X belongs to."""
        return arrays

    def as_sparse_like(
        self, X: Any, indptr: Array, columns: Array, values: Array, width: int
    ) -> Any:
        """Make a sparse matrix of the library that X belongs to."""
        return to_csr(indptr, columns, values, (int(indptr.shape[0]) - 1, width))


def host_quantised_rows(
    X: Any, name: str, feature_weights: NDArray[np.float64] | None
) -> QuantisedRows:
    """Turn a matrix on the host into canonical quantised rows on the host."""
    rows = canonical_rows(X, name)
    if feature_weights is not None:
        check_width(rows.n_features, feature_weights.size)
    return quantise_rows(rows, feature_weights)
