"""Several indexes searched as one: rows that came later lie in small indexes of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from swnn_xp.backends._base import Index
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.input_kind import host_rows
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows
from swnn_xp.search.top_rows import merge, shifted

_GROWTH = 4  # an index is merged into its neighbour before it reaches a quarter of its size


class SegmentedIndex(Index):
    """Indexes of one backend over successive runs of rows; answers as one index over all."""

    def __init__(self, parts: list[Index]) -> None:
        self.parts = parts
        self.memory_budget = parts[0].memory_budget
        self._firsts = np.concatenate([[0], np.cumsum([part.n_rows for part in parts])])

    @property
    def backend(self) -> str:  # type: ignore[override]
        """Name of the parts' backend."""
        return self.parts[0].backend

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._firsts[-1])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.parts[0].n_features

    @property
    def kind(self) -> type[Index]:
        """The class of the parts."""
        return type(self.parts[0])

    def rebuild(self, rows: QuantisedRows, **options: Any) -> Index:
        """Make an index of the parts' kind over rows from the host, where the parts are."""
        return self.parts[0].rebuild(rows, **options)

    @classmethod
    def build(
        cls, rows: QuantisedRows, *, memory_budget: int, n_jobs: int = 1, device: Any = None
    ) -> Index:
        """Segments come about by `appended`, never by building."""
        raise TypeError("a segmented index is made by `appended`")

    @classmethod
    def from_arrays(
        cls,
        arrays: dict[str, Any],
        n_features: int,
        *,
        memory_budget: int,
        n_jobs: int = 1,
        device: Any = None,
    ) -> Index:
        """Segments are merged before they are saved."""
        raise TypeError("a segmented index is merged before it is saved")

    def arrays(self) -> dict[str, Any]:
        """Segments are merged before they are saved."""
        raise TypeError("a segmented index is merged before it is saved")

    def search(
        self, queries: QuantisedRows, n_neighbors: int, beta: float, removed: Any = None
    ) -> Neighbours:
        """Search every part and merge what they find."""
        found: Neighbours | None = None
        for first, part in zip(self._firsts, self.parts, strict=False):
            here = None if removed is None else removed[first : first + part.n_rows]
            best = part.search(queries, n_neighbors, beta, here)
            best = shifted(best, int(first))
            found = best if found is None else merge(found, best, n_neighbors)
        assert found is not None
        return found

    def rank_found(self, found: Neighbours, labels: LabelRows, alpha: float, k: int) -> Ranking:
        """Let neighbours vote as the parts do."""
        return self.parts[0].rank_found(found, labels, alpha, k)

    def queries(self, X: Any) -> QuantisedRows:
        """Turn a matrix of queries into canonical unit rows, where the parts are."""
        return self.parts[0].queries(X)

    def upload(self, array: Any) -> Array:
        """Bring an array from the host to where the parts are."""
        return self.parts[0].upload(array)

    def place(self, labels: LabelRows) -> LabelRows:
        """Bring label rows from the host to where the parts are."""
        return self.parts[0].place(labels)

    def like(self, X: Any, *arrays: Array) -> tuple[Array, ...]:
        """Return arrays of the kind that X is."""
        return self.parts[0].like(X, *arrays)

    def matrix(self, X: Any, indptr: Array, columns: Array, values: Array, width: int) -> Any:
        """Make a sparse matrix of the kind that X is."""
        return self.parts[0].matrix(X, indptr, columns, values, width)

    def rows(self) -> QuantisedRows:
        """Return the rows of all parts."""
        return concatenated([part.rows() for part in self.parts])

    def shared(self, row: int, features: Any) -> tuple[Any, Any]:
        """Ask the part that holds the row."""
        at = int(np.searchsorted(self._firsts, row, side="right")) - 1
        return self.parts[at].shared(row - int(self._firsts[at]), features)


def appended(index: Index, rows: QuantisedRows, **options: Any) -> Index:
    """Index over the old rows and the new ones; the old index is left as it is.

    Sizes of parts fall by a factor of four at least, so there are few parts, and a row is indexed
    anew only as often as the number of times the model has grown fourfold.
    """
    parts = list(index.parts) if isinstance(index, SegmentedIndex) else [index]
    pending = [host_rows(rows)]
    size = rows.n_rows
    while parts and parts[-1].n_rows < _GROWTH * size:
        size += parts[-1].n_rows
        pending.insert(0, parts.pop().rows())
    newest = index.rebuild(concatenated(pending), **options)
    parts.append(newest)
    return newest if len(parts) == 1 else SegmentedIndex(parts)


def concatenated(blocks: list[QuantisedRows]) -> QuantisedRows:
    """Put blocks of rows under each other."""
    if len(blocks) == 1:
        return blocks[0]
    ends = np.cumsum([0] + [int(block.indptr[-1]) for block in blocks])
    indptr = [block.indptr[1:] + end for block, end in zip(blocks, ends, strict=False)]
    return QuantisedRows(
        np.concatenate([np.zeros(1, np.int64), *indptr]),
        np.concatenate([block.indices for block in blocks]),
        np.concatenate([block.quantised for block in blocks]),
        blocks[0].n_features,
    )
