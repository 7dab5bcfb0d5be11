"""Sources of evidence beside the vote: each lists labels for a query, with bins of its tables.

A ranking holds its sources; training pairs each with what it would list for a training row if that
row, and its copies, were not among the rows. See `swnn_kernels.learn.evidence`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.evidence import Evidence, SourceShape
from swnn_kernels.learn.session import Lister
from swnn_xp.backends import Options
from swnn_xp.backends.index import Search
from swnn_xp.model.explain import SharedFeature
from swnn_xp.model.model import Extra, Model, Queries
from swnn_xp.progress import note
from swnn_xp.rows.records import LabelRows, QuantisedRows


class TrainingRows(NamedTuple):
    """What a source is made from."""

    unscaled: QuantisedRows
    scaled: QuantisedRows
    """By the feature weights of the search."""
    labels: LabelRows
    copies: NDArray[np.int64]
    """(n_rows,): numbers that copies of one another share."""
    indexer: Callable[[QuantisedRows], Search]
    """Indexes rows and returns their search."""


class Source(ABC):
    """What lists labels for queries; it never changes.

    Its arrays may come from a file: `check` looks at them, and nothing is followed before that.
    """

    name: ClassVar[str]
    """Prefix of its arrays in files; what explanations call it."""
    counts_in_full: ClassVar[bool] = False
    """Whether its evidence keeps its weight beside label models, where that of the vote falls."""

    @property
    @abstractmethod
    def shape(self) -> SourceShape:
        """What it may list for a query."""

    @abstractmethod
    def find(self, model: Model, queries: Queries, options: Options) -> Evidence:
        """List labels for queries; arrays are where the model is."""

    @abstractmethod
    def lister(self, model: Model) -> Lister:
        """Make a function that lists labels for single rows, for a session of the kernels."""

    @abstractmethod
    def shared_features(
        self, model: Model, queries: Queries, label: int
    ) -> tuple[SharedFeature, ...]:
        """Features of the only query that speak for a label, the largest contribution first."""

    @abstractmethod
    def made_again(self, rows: TrainingRows) -> TrainingSource:
        """Make the source for other rows, with the same settings."""

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError if its arrays can't be right."""

    @abstractmethod
    def stored(self) -> Extra:
        """Arrays and numbers that a saved model keeps."""

    @classmethod
    @abstractmethod
    def from_stored(cls, arrays: Mapping[str, Any], meta: Any, n_features: int) -> Source:
        """Read back what `stored` gave; KeyError, TypeError or ValueError if it can't be that."""


class Terms(NamedTuple):
    """What held-out rows must gain by a source, so that it is used."""

    least: float
    """Mean gain in precision, of P@1, P@3 and P@5."""
    errors: float
    """Standard errors by which the mean must be above that; below it, if negative."""

    def kept(self, gains: NDArray[np.float64]) -> bool:
        """Whether the rows gain enough.

        Examples
        --------
        >>> [Terms(0.0, -1.0).kept(np.asarray([-gain, 1.0])) for gain in (1.5, 9.0)]
        [True, False]
        >>> Terms(0.5, 0.0).kept(np.asarray([0.0, 0.8]))
        False
        """
        return bool(gains.mean() >= self.least + self.errors * gains.std() / np.sqrt(gains.size))


class TrainingSource(NamedTuple):
    """A source, and what it lists for training rows."""

    source: Source
    leave_one_out: Callable[[NDArray[np.int64]], Evidence]
    """Lists labels for the rows at these positions, on the host, as if neither they nor their
    copies were among the training rows."""
    terms: Terms | None = None
    """On which it is used; None: in any case."""

    def is_used(self, gains: NDArray[np.float64] | None) -> bool:
        """Whether it keeps its terms; a note says so. None: there are too few rows to tell."""
        if self.terms is None or gains is None:
            return self.terms is None or self.terms.errors < 0
        used, gain = self.terms.kept(gains), 100 * gains.mean()
        note(f"{self.source.name} {'used' if used else 'not used'}: held-out rows change by "
             f"{gain:+.2f} points of precision")  # fmt: skip
        return used


def tables_of(shapes: Sequence[SourceShape]) -> tuple[int, ...]:
    """Categories of each table of some sources; see `SourceShape`."""
    return tuple(n for shape in shapes for n in shape.tables)


def own_tables(shapes: Sequence[SourceShape], n_cuts: int) -> list[slice]:
    """Numbers of each source's tables among those of a ranker."""
    ends = np.cumsum([n_cuts, *(len(shape.tables) for shape in shapes)]).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]
