"""Label centroids: a label as one row, found by its cosine with the query.

The centroid of a label is the sum of its rows; its largest features are kept and brought to unit
length. So labels are rows like others, and an index of the backend over them lists those most like
a query: exact, the same bits everywhere. Where rows are short and neighbours often copies of each
other, many right labels that no neighbour has are among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from swnn_kernels.learn.candidates import fill_bins
from swnn_kernels.learn.centroids import LabelSums, list_labels, tables_of_list
from swnn_kernels.learn.evidence import Evidence, SourceShape
from swnn_kernels.learn.session import Lister
from swnn_kernels.parallel import once_property
from swnn_kernels.records import Settings, frozen
from swnn_kernels.vote import Labels
from swnn_xp.backends import Index, Options
from swnn_xp.learn.candidates import bins_of
from swnn_xp.learn.evidence import Source, Terms, TrainingRows, TrainingSource
from swnn_xp.model.explain import SharedFeature
from swnn_xp.model.model import Extra, Model, Queries
from swnn_xp.results import Neighbours
from swnn_xp.rows.canonical import DOT_SCALE, quantise_rows, untrusted_rows
from swnn_xp.rows.input_kind import host_rows
from swnn_xp.rows.records import (
    Array,
    LabelRows,
    QuantisedRows,
    ValueRows,
    pointers_of_sizes,
    take_rows,
)

N_KEPT = 100
N_LISTED = 50
MOST_SUMMED = 100_000_000
"""Most values to add up, unless centroids are asked for: they take 40 bytes each."""
IF_THEY_HELP = Terms(0.001, 0.0)
"""Terms of centroids, unless they are asked for: queries take longer with them."""


@dataclass(frozen=True, eq=False)
class Centroids(Source):
    """The centroids of all labels at training."""

    rows: QuantisedRows
    """One for each label, on the host; it may come from a file."""
    n_listed: int
    """Labels listed for a query."""
    scaled: bool
    """Whether features are scaled by their weights, as for the search."""

    name: ClassVar[str] = "centroids"

    def __getstate__(self) -> dict[str, Any]:
        # Without what is cached: an index on a device is quickly made again.
        return {"rows": self.rows, "n_listed": self.n_listed, "scaled": self.scaled}

    @property
    def shape(self) -> SourceShape:
        """What it may list for a query."""
        return SourceShape(self.rows.n_rows, self.n_listed, tables_of_list(self.n_listed))

    @once_property
    def checked_rows(self) -> QuantisedRows:
        """The centroids; raises ValueError if their arrays can't be rows."""
        arrays = dict(zip(self.rows._fields, self.rows[:3], strict=False))
        return untrusted_rows(arrays, self.rows.n_features)

    def _index(self, model: Model) -> Index:
        """An index over the centroids where the model is; made once there."""
        held = self.__dict__.get("_placed")
        if held is None or held[0] is not model.placement:
            rows = model.placement.rows(self.checked_rows)
            index = type(model.segments[0]).build(rows, model.placement)
            held = self.__dict__["_placed"] = model.placement, index
        found: Index = held[1]
        return found

    def find(self, model: Model, queries: Queries, options: Options) -> Evidence:
        """List labels for queries; arrays are where the model is."""
        rows = queries.scaled if self.scaled else queries.unscaled
        found = self._index(model).search(rows, self.n_listed, 0.0, None, options)
        with model.placement.current():
            return Evidence(found.ids, _bins(found))

    def lister(self, model: Model) -> Lister:
        """Make a function that lists labels for single rows, for a session of the kernels."""
        from swnn_kernels import Session

        index: Any = self._index(model)
        none = Labels.prepare(np.zeros(index.n_rows + 1, np.int64), np.zeros(0, np.int32))
        weights = model.feature_weights if self.scaled else None
        settings = Settings(self.n_listed, 1.0, 0.0)
        session = Session(index.kernel_index, none, settings, feature_weights=weights)

        bins = np.empty(self.n_listed, np.uint16)
        places = np.arange(1, self.n_listed + 1)

        def fill(indices: Any, values: Any, own: Evidence) -> None:
            own.labels[:], cosines = session.kneighbors_one(indices, values)
            fill_bins(cosines, bins)
            own.bins[:, 0] = bins
            own.bins[:, 1] = np.where(own.labels >= 0, places, 0)

        return fill

    def shared_features(
        self, model: Model, queries: Queries, label: int
    ) -> tuple[SharedFeature, ...]:
        """Features of the only query that the centroid has, too; they add up to the cosine."""
        query = host_rows(queries.scaled if self.scaled else queries.unscaled)
        own = take_rows(self.checked_rows, np.asarray([label]))
        features, at, within = np.intersect1d(
            query.indices, own.indices, assume_unique=True, return_indices=True
        )
        gains = query.quantised[at].astype(np.int64) * own.quantised[within] * DOT_SCALE
        names = model.names.get("feature_names")
        shared = [
            SharedFeature(f, names[f] if names else str(f), gain)
            for f, gain in zip(features.tolist(), gains.tolist(), strict=True)
        ]
        return tuple(sorted(shared, key=lambda feature: -feature.contribution))

    def made_again(self, rows: TrainingRows) -> TrainingSource:
        """Make the centroids for other rows."""
        return training_centroids(rows, scaled=self.scaled)

    def check(self) -> None:
        """Raise ValueError if its arrays can't be right."""
        _ = self.checked_rows

    def stored(self) -> Extra:
        """Arrays and numbers that a saved model keeps."""
        arrays = dict(zip(self.rows._fields, self.rows[:3], strict=False))
        return Extra(arrays, {"n_listed": self.n_listed, "scaled": self.scaled})

    @classmethod
    def from_stored(cls, arrays: Mapping[str, Any], meta: Any, n_features: int) -> Centroids:
        """Read back what `stored` gave; KeyError, TypeError or ValueError if it can't be that."""
        rows = QuantisedRows(arrays["indptr"], arrays["indices"], arrays["quantised"], n_features)
        n_listed, scaled = meta["n_listed"], meta["scaled"]
        if type(n_listed) is not int or type(scaled) is not bool:
            raise ValueError(f"centroids: {meta}")
        return cls(rows, n_listed, scaled)


def _bins(found: Neighbours) -> Array:
    """Bins of the cosines, and places in the list; 0 where nothing was found."""
    ids, xp = found.ids, array_namespace(found.ids)
    places = xp.arange(1, ids.shape[1] + 1, dtype=xp.int64, device=device(ids))
    places = xp.where(ids >= 0, xp.broadcast_to(places, ids.shape), xp.zeros_like(places))
    return xp.stack([bins_of(found.similarities), places], axis=2)


def label_sums(rows: QuantisedRows, labels: LabelRows, n_kept: int = N_KEPT) -> LabelSums:
    """Add up the rows of each label.

    Examples
    --------
    >>> rows = QuantisedRows(np.asarray([0, 1, 3]), np.asarray([1, 0, 1]), np.asarray([9, 2, 3]), 2)
    >>> label_sums(rows, LabelRows(np.arange(3), np.asarray([0, 0]), 1)).features.tolist()
    [1, 0]
    """
    n_rows, n_features = rows.n_rows, rows.n_features
    ones = np.ones(labels.indices.size, np.int64)
    y = sp.csr_array((ones, labels.indices, labels.indptr), shape=(n_rows, labels.n_labels))
    values = rows.quantised.astype(np.int64)
    x = sp.csr_array((values, rows.indices, rows.indptr), shape=(n_rows, n_features))
    sums = (y.T.tocsr() @ x).tocoo()
    label, feature, total = sums.row, sums.col, sums.data
    order = np.lexsort((feature, -np.abs(total), label))
    indptr = pointers_of_sizes(np.bincount(label, minlength=labels.n_labels))
    features = feature[order].astype(np.int32)
    negative = int((rows.quantised < 0).any())
    return LabelSums(frozen(indptr), frozen(features), frozen(total[order]), n_kept, negative)


def n_summed(rows: QuantisedRows, labels: LabelRows) -> int:
    """How many values `label_sums` adds up: each of a row for each of the row's labels."""
    return int((np.diff(rows.indptr) * np.diff(labels.indptr)).sum())


def centroids_of(sums: LabelSums, n_features: int) -> QuantisedRows:
    """The largest features of each label's sum, brought to unit length."""
    sizes = np.diff(sums.indptr)
    rank = np.arange(sums.features.size) - np.repeat(sums.indptr[:-1], sizes)
    kept = rank < sums.n_kept
    label = np.repeat(np.arange(sizes.size), sizes)[kept]
    features, values = sums.features[kept], sums.sums[kept]
    order = np.lexsort((features, label))
    indptr = pointers_of_sizes(np.bincount(label, minlength=sizes.size))
    rows = ValueRows(indptr, features[order], values[order].astype(np.float64), n_features)
    return quantise_rows(rows)


def training_centroids(
    given: TrainingRows, *, scaled: bool, n_listed: int = N_LISTED
) -> TrainingSource:
    """Centroids of all labels, and what they list for the rows themselves.

    Parameters
    ----------
    given : TrainingRows
    scaled : bool
        Whether to add up rows, and to look for them, as they are scaled for the search.
    n_listed : int
        Labels listed for a query, if there are as many.
    """
    rows, labels = given.scaled if scaled else given.unscaled, given.labels
    sums = label_sums(rows, labels)
    source = Centroids(centroids_of(sums, rows.n_features), min(n_listed, labels.n_labels), scaled)
    search, n_copies = given.indexer(source.rows), np.bincount(given.copies)[given.copies]

    def leave_one_out(some: NDArray[np.int64]) -> Evidence:
        own = take_rows(labels, some)
        mine = take_rows(rows, some)
        wanted = source.n_listed + int(np.diff(own.indptr).max(initial=0))
        cosines, ids = search(mine, wanted, 0.0)
        truth = own.indptr, own.indices
        return list_labels(sums, mine, truth, n_copies[some], (ids, cosines), source.n_listed)

    return TrainingSource(source, leave_one_out)
