"""Several indexes searched as one: rows that came later lie in small indexes of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from swnn_xp._types import LabelRows, Neighbours, Ranking, UnitRows
from swnn_xp.backends._base import Index
from swnn_xp.search import merge

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

    @classmethod
    def build(cls, rows: UnitRows, *, memory_budget: int, n_jobs: int) -> Index:
        """Segments come about by `appended`, never by building."""
        raise TypeError("a segmented index is made by `appended`")

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, Any], n_features: int, *, memory_budget: int, n_jobs: int
    ) -> Index:
        """Segments are merged before they are saved."""
        raise TypeError("a segmented index is merged before it is saved")

    def arrays(self) -> dict[str, Any]:
        """Segments are merged before they are saved."""
        raise TypeError("a segmented index is merged before it is saved")

    def search(
        self, queries: UnitRows, n_neighbors: int, beta: float, dead: Any = None
    ) -> Neighbours:
        """Search every part and merge what they find."""
        found: Neighbours | None = None
        for first, part in zip(self._firsts, self.parts, strict=False):
            here = None if dead is None else dead[first : first + part.n_rows]
            best = part.search(queries, n_neighbors, beta, here)
            best = Neighbours(np.where(best.ids >= 0, best.ids + first, -1), best.sims)
            found = best if found is None else merge(found, best, n_neighbors)
        assert found is not None
        return found

    def vote(self, found: Neighbours, labels: LabelRows, alpha: float, k: int) -> Ranking:
        """Vote as the parts do."""
        return self.parts[0].vote(found, labels, alpha, k)

    def rows(self) -> UnitRows:
        """Return the rows of all parts."""
        return concatenated([part.rows() for part in self.parts])

    def shared(self, row: int, features: Any) -> tuple[Any, Any]:
        """Ask the part that holds the row."""
        at = int(np.searchsorted(self._firsts, row, side="right")) - 1
        return self.parts[at].shared(row - int(self._firsts[at]), features)


def appended(index: Index, rows: UnitRows, *, memory_budget: int, n_jobs: int) -> Index:
    """Index over the old rows and the new ones; the old index is left as it is.

    Sizes of parts fall by a factor of four at least, so there are few parts, and a row is indexed
    anew only as often as the number of times the model has grown fourfold.
    """
    parts = list(index.parts) if isinstance(index, SegmentedIndex) else [index]
    kind = type(parts[0])
    pending = [rows]
    size = rows.n_rows
    while parts and parts[-1].n_rows < _GROWTH * size:
        size += parts[-1].n_rows
        pending.insert(0, parts.pop().rows())
    newest = kind.build(concatenated(pending), memory_budget=memory_budget, n_jobs=n_jobs)
    parts.append(newest)
    return newest if len(parts) == 1 else SegmentedIndex(parts)


def concatenated(blocks: list[UnitRows]) -> UnitRows:
    """Put blocks of rows under each other."""
    if len(blocks) == 1:
        return blocks[0]
    ends = np.cumsum([0] + [int(block.indptr[-1]) for block in blocks])
    indptr = [block.indptr[1:] + end for block, end in zip(blocks, ends, strict=False)]
    return UnitRows(
        np.concatenate([np.zeros(1, np.int64), *indptr]),
        np.concatenate([block.indices for block in blocks]),
        np.concatenate([block.units for block in blocks]),
        blocks[0].n_features,
    )
