"""Where the arrays of a model live, and how data gets there and back.

`Placement` is the host; `DevicePlacement` is the memory of some device, by a library that has an
array API.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from swnn_xp.checks import check_width
from swnn_xp.rows.canonical import canonical_rows, quantise_rows, to_csr
from swnn_xp.rows.input_kind import host_array, host_rows, input_kind, is_host, map_rows
from swnn_xp.rows.on_device import Entries, canonical_entries, quantise_on_device
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows, ValueRows

Block = TypeVar("Block")
Item = TypeVar("Item")
Result = TypeVar("Result")


def is_cpu(device: Any) -> bool:
    """Whether the device that a user names, in whatever type, is the CPU."""
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
    n_lanes: ClassVar[int] = 1
    """Batches in work at the same time, which share the memory."""

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

    def canonical(self, X: Any, name: str = "X") -> ValueRows:
        """Bring a matrix into canonical rows where it is, on the host or placed here."""
        if not is_host(X):
            kind = input_kind(X)
            what = f"a {kind} array" if kind != "array-api" else f"of type {type(X).__module__}"
            raise ValueError(
                f"{name} is {what} and backend {self.backend!r} takes NumPy and SciPy; "
                f"backend={kind!r} takes it as it is"
            )
        return canonical_rows(X, name)

    def quantise(
        self, rows: ValueRows, feature_weights: NDArray[np.float64] | None = None
    ) -> QuantisedRows:
        """Quantise canonical rows and place them here; feature weights come from the host."""
        if feature_weights is not None:
            check_width(rows.n_features, feature_weights.size)
        return quantise_rows(rows, feature_weights)

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

    def overlapped(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield what ``work``, which ends on the host, makes of each item; a device may overlap it.

        Items are taken in the caller's thread, and results come in their order.
        """
        return map(work, items)

    def in_batches(
        self, total: int, answer: Callable[[int, int], tuple[Array, ...]]
    ) -> tuple[Array, ...]:
        """Call ``answer(start, stop)`` for all of the caller's rows, which are on the host.

        It uploads them and answers them by arrays with a row for each. The default is one call; a
        device that can overlap batches calls it for each and returns arrays on the host.
        """
        return answer(0, total)

    def as_input_kind(self, X: Any, *arrays: Array) -> tuple[Array, ...]:
        """Return arrays of the library that X belongs to."""
        return arrays

    def as_sparse_like(
        self, X: Any, indptr: Array, columns: Array, values: Array, width: int
    ) -> Any:
        """Make a sparse matrix of the library that X belongs to."""
        return to_csr(indptr, columns, values, (int(indptr.shape[0]) - 1, width))


class DevicePlacement(Placement):
    """The memory of one device; a subclass knows the library.

    Five methods to write: `find_device`, `device_of`, `entries`, `to_device`, `sparse`.
    """

    def __init__(self, backend: str, device: Any) -> None:
        self.backend = backend
        self.device = device

    @classmethod
    @abstractmethod
    def find_device(cls, device: Any) -> Any:
        """Device that the user names; None means the library's default."""

    @classmethod
    @abstractmethod
    def device_of(cls, array: Array) -> Any:
        """Device that an array or matrix is on."""

    @abstractmethod
    def entries(self, X: Any, name: str) -> Entries:
        """Stored entries of a matrix that is on the device."""

    @abstractmethod
    def sparse(self, indptr: Array, columns: Array, values: Array, shape: tuple[int, int]) -> Any:
        """Make a matrix of the library: sparse, if it has sparse matrices."""

    @classmethod
    def accepts(cls, X: Any, backend: str) -> bool:
        """True if `entries` takes the matrix."""
        return input_kind(X) == backend

    @classmethod
    def find(cls, backend: str, device: Any = None, X: Any = None) -> Self:
        """Choose a placement: the device that the user names, else the one X is on."""
        if X is None or is_host(X):
            return cls(backend, cls.find_device(device))
        cls._require_accepted(X, backend, "X")
        placement = cls(backend, cls.device_of(X))
        return placement if device is None else placement.require_device(device, "X")

    def moved(self, device: Any) -> Self:
        """Placement on the device that the user names; itself if it is there already."""
        wanted = self._named(device)
        return self if wanted == self.device else type(self)(self.backend, wanted)

    def canonical(self, X: Any, name: str = "X") -> ValueRows:
        """Bring a matrix into canonical rows: on the host if it is there, else on the device."""
        if is_host(X):
            return canonical_rows(X, name)
        self._require_accepted(X, self.backend, name)
        if (found := self.device_of(X)) != self.device:
            raise ValueError(f"{name} is on device {found}, not on {self.device}")
        with self.current():
            return canonical_entries(self.entries(X, name), name)

    def quantise(
        self, rows: ValueRows, feature_weights: NDArray[np.float64] | None = None
    ) -> QuantisedRows:
        """Quantise canonical rows on the host or on the device; the result is on the device."""
        if is_host(rows.values):
            return self.rows(super().quantise(rows, feature_weights))
        if feature_weights is not None:
            check_width(rows.n_features, feature_weights.size)
        with self.current():
            weights = None if feature_weights is None else self.to_device(feature_weights)
            return quantise_on_device(rows, weights)

    def rows(self, rows: QuantisedRows) -> QuantisedRows:
        """Copy rows from the host to the device, unless they are there."""
        return map_rows(self.to_device, rows) if is_host(rows.quantised) else rows

    def host_rows(self, rows: QuantisedRows) -> QuantisedRows:
        """Copy rows from the device to the host."""
        with self.current():
            return host_rows(rows)

    def labels(self, labels: LabelRows) -> LabelRows:
        """Copy label rows to the device."""
        indptr, indices = self.to_device(labels.indptr), self.to_device(labels.indices)
        return LabelRows(indptr, indices, labels.n_labels)

    def as_input_kind(self, X: Any, *arrays: Array) -> tuple[Array, ...]:
        """Return arrays of the library that X belongs to: copies on the host, or as they are."""
        with self.current():
            return tuple(map(host_array, arrays)) if is_host(X) else arrays

    def as_sparse_like(
        self, X: Any, indptr: Array, columns: Array, values: Array, width: int
    ) -> Any:
        """Make a matrix of the library that X belongs to."""
        shape = int(indptr.shape[0]) - 1, width
        if is_host(X):
            indptr, columns, values = self.as_input_kind(X, indptr, columns, values)
            return to_csr(indptr, columns, values, shape)
        with self.current():
            return self.sparse(indptr, columns, values, shape)

    def _named(self, device: Any) -> Any:
        """Device that the user names, as the library's arrays name theirs."""
        return self.find_device(device)

    def require_device(self, device: Any, name: str) -> Self:
        """Return itself; ValueError unless it is on the device that the user names."""
        if (wanted := self._named(device)) != self.device:
            raise ValueError(f"{name} is on device {self.device}, not on {wanted}")
        return self

    @classmethod
    def _require_accepted(cls, X: Any, backend: str, name: str) -> None:
        if not cls.accepts(X, backend):
            library = type(X).__module__.partition(".")[0]
            what = f"{type(X).__name__} of {library}"
            raise ValueError(f"{name}: backend {backend!r} does not take a {what} like this one")
