"""Label names as a source of evidence: a row that names a label has it more often than not.

How much a name says depends on how much of it the row has, how long and rare it is, how many rows
the label has, and how often rows with the whole name had the label. Rows of training are left out
of all these counts where they are asked for themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from swnn_kernels.learn.evidence import Evidence, SourceShape
from swnn_kernels.learn.names import (
    N_LISTED,
    TABLES,
    LeftOut,
    Names,
    NameSession,
    count_holders,
    match_names,
)
from swnn_kernels.learn.session import Lister
from swnn_kernels.parallel import BufferPool, once_property
from swnn_xp.backends import Options
from swnn_xp.learn.evidence import Source, Terms, TrainingRows, TrainingSource
from swnn_xp.learn.label_names import LabelFeatures, idf_of_counts, join_features, match_block
from swnn_xp.model.explain import SharedFeature
from swnn_xp.model.model import Extra, Model, Queries
from swnn_xp.rows.canonical import check_dtypes, check_pointers, check_range, is_ascending
from swnn_xp.rows.input_kind import host_rows
from swnn_xp.rows.records import LabelRows, QuantisedRows, slice_rows, take_rows

_DTYPES = {
    "indptr": np.int64,
    "features": np.int32,
    "labels": np.int32,
    "idf": np.int32,
    "counts": np.int64,
    "holders": np.int64,
    "right": np.int64,
}
_LARGEST_IDF = 2**20
_LARGEST_COUNT = 2**40
_FOUND_BYTES = 400  # temporaries of a (query, name) pair
UNLESS_THEY_HARM = Terms(0.0, -0.5)
"""Terms of names, which the user gave, and which find labels without rows."""


@dataclass(frozen=True, eq=False)
class LabelNames(Source):
    """Names of labels, and what the training rows say of them; arrays may come from a file."""

    indptr: NDArray[np.int64]  # (n_names + 1,)
    features: NDArray[np.int32]
    labels: NDArray[np.int32]  # (n_names,): whose name it is
    idf: NDArray[np.int32]  # (n_features,)
    counts: NDArray[np.int64]  # (n_labels,): training rows of each label
    holders: NDArray[np.int64]  # (n_names,): training rows with the whole name
    right: NDArray[np.int64]  # (n_names,): those of them that have the label
    prior: int
    unknown: int
    """Idf of a feature that no row has."""

    name: ClassVar[str] = "names"
    counts_in_full: ClassVar[bool] = True

    def __getstate__(self) -> dict[str, Any]:
        # Without what is cached: it is quickly made again.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def shape(self) -> SourceShape:
        """What it may list for a query."""
        return SourceShape(self.counts.size, min(N_LISTED, self.counts.size), TABLES)

    @once_property
    def prepared(self) -> Names:
        """The names as the kernels take them; raises ValueError if the arrays can't be names."""
        self._check_arrays()
        given = (self.indptr, self.features), self.labels, self.idf, self.unknown, self.counts
        return Names.prepare(*given, (self.holders, self.right, self.prior))

    @once_property
    def buffers(self) -> BufferPool:
        """Buffers of the kernels."""
        return BufferPool()

    def _placed(self, model: Model) -> Names:
        """The names where a model is; copied there once."""
        held = self.__dict__.get("_held")
        if held is None or held[0] is not model.placement:
            move, names = model.placement.to_device, self.prepared
            arrays: Any = {n: v for n, v in names._asdict().items() if isinstance(v, np.ndarray)}
            placed = names._replace(**{name: move(array) for name, array in arrays.items()})
            held = self.__dict__["_held"] = model.placement, placed
        found: Names = held[1]
        return found

    def find(self, model: Model, queries: Queries, options: Options) -> Evidence:
        """List labels for queries; arrays are where the model is."""
        rows = queries.unscaled
        if isinstance(rows.indices, np.ndarray):
            found = match_names(self.prepared, rows, n_jobs=options.n_jobs, pool=self.buffers)
            return Evidence(found.labels, found.bins)
        with model.placement.current():
            names = self._placed(model)
            xp = array_namespace(rows.indices)
            of_features = xp.take(names.starts, xp.astype(rows.indices, xp.int64) + 1)
            of_features = of_features - xp.take(names.starts, xp.astype(rows.indices, xp.int64))
            n_pairs = int(xp.sum(of_features)) // max(1, rows.n_rows) + self.shape.n_listed
            step = max(1, options.memory_budget // (_FOUND_BYTES * n_pairs))
            blocks = model.placement.in_blocks(
                rows.n_rows,
                step,
                lambda first, last: match_block(names, slice_rows(rows, first, last)),
            )
            return Evidence(*(xp.concat(list(part)) for part in zip(*blocks, strict=True)))

    def lister(self, model: Model) -> Lister:
        """Make a function that lists labels for single rows, for a session of the kernels."""
        session = NameSession(self.prepared)

        def fill(indices: Any, values: Any, own: Evidence) -> None:
            found = session.match(indices, values)
            own.labels[:], own.bins[:] = found.labels[0], found.bins[0]

        return fill

    def shared_features(
        self, model: Model, queries: Queries, label: int
    ) -> tuple[SharedFeature, ...]:
        """Words of the label's best name that the only query has; they add up to containment."""
        query, names = host_rows(queries.unscaled), self.prepared
        found = match_names(names, query)
        at = np.flatnonzero(found.labels[0] == label)
        if not at.size:
            return ()
        name = int(found.names[0, at[0]])
        own = names.features[names.indptr[name] : names.indptr[name + 1]]
        shared = own[np.isin(own, query.indices)]
        parts = names.idf[shared] / int(names.wholes[name])
        known = model.names.get("feature_names")
        return tuple(
            SharedFeature(f, known[f] if known else str(f), part)
            for f, part in zip(shared.tolist(), parts.tolist(), strict=True)
        )

    def made_again(self, rows: TrainingRows) -> TrainingSource:
        """Make the source for other rows: the same names, and what these rows say of them."""
        return training_names(self.given, rows)

    def check(self) -> None:
        """Raise ValueError if its arrays can't be right."""
        _ = self.prepared

    def _check_arrays(self) -> None:
        check_dtypes("the names'", self, _DTYPES)
        check_pointers("the names' indptr", self.indptr, self.features, "their features")
        n_names = self.indptr.size - 1
        if not self.labels.size == self.holders.size == self.right.size == n_names:
            raise ValueError("the names' arrays do not fit together")
        check_range("the names' labels", self.labels, 0, self.counts.size - 1)
        check_range("the names' features", self.features, 0, 2**31 - 1)
        if not is_ascending(self.indptr, self.features):
            raise ValueError("the names' features must ascend in each name")
        check_range("the names' idf", self.idf, 1, _LARGEST_IDF)
        for name in ("counts", "holders", "right"):
            check_range(f"the names' {name}", getattr(self, name), 0, _LARGEST_COUNT)
        if not (0 <= self.prior <= 2**12 and 1 <= self.unknown <= _LARGEST_IDF):
            raise ValueError(f"the names' prior or unknown: {self.prior}, {self.unknown}")

    def stored(self) -> Extra:
        """Arrays and numbers that a saved model keeps."""
        arrays = {name: getattr(self, name) for name in _DTYPES}
        return Extra(arrays, {"prior": self.prior, "unknown": self.unknown})

    @classmethod
    def from_stored(cls, arrays: Mapping[str, Any], meta: Any, n_features: int) -> LabelNames:
        """Read back what `stored` gave; KeyError, TypeError or ValueError if it can't be that."""
        numbers = {name: meta[name] for name in ("prior", "unknown")}
        if any(type(number) is not int for number in numbers.values()):
            raise ValueError(f"names: {meta}")
        source = cls(**{name: arrays[name] for name in _DTYPES}, **numbers)
        if source.idf.shape != (n_features,):
            raise ValueError(f"the names have {source.idf.shape} features, not {n_features}")
        return source

    @classmethod
    def learned(cls, names: LabelFeatures, rows: QuantisedRows, labels: LabelRows) -> Self:
        """Count what the training rows say of names."""
        n_rows_of = np.bincount(rows.indices, minlength=rows.n_features)
        none = np.zeros(names.labels.size, np.int64)
        source = cls(
            *names,
            idf=idf_of_counts(n_rows_of, rows.n_rows),
            counts=np.bincount(labels.indices, minlength=labels.n_labels).astype(np.int64),
            holders=none,
            right=none,
            prior=0,
            unknown=int(idf_of_counts(np.zeros(1, np.int64), rows.n_rows)[0]),
        )
        holders, right, prior = count_holders(source.prepared, rows, labels[:2])
        return replace(source, holders=holders, right=right, prior=prior)

    def extended(self, added: LabelFeatures, counts: NDArray[np.int64]) -> Self:
        """With further labels, which have these numbers of rows, and their names."""
        none = np.zeros(added.labels.size, np.int64)
        return replace(
            self,
            **join_features(self.given, added)._asdict(),
            counts=np.concatenate([self.counts, counts]),
            holders=np.concatenate([self.holders, none]),
            right=np.concatenate([self.right, none]),
        )

    @property
    def given(self) -> LabelFeatures:
        """The names as they were given."""
        return LabelFeatures(self.indptr, self.features, self.labels)


def training_names(names: LabelFeatures, rows: TrainingRows, n_jobs: int = 1) -> TrainingSource:
    """Names of labels, and what they list for the training rows themselves."""
    source = LabelNames.learned(names, rows.unscaled, rows.labels)
    n_copies = np.bincount(rows.copies)[rows.copies]

    def leave_one_out(some: NDArray[np.int64]) -> Evidence:
        own = take_rows(rows.labels, some)
        left_out = LeftOut(n_copies[some], own.indptr, own.indices)
        mine = take_rows(rows.unscaled, some)
        found = match_names(source.prepared, mine, left_out, n_jobs=n_jobs, pool=source.buffers)
        return Evidence(found.labels, found.bins)

    return TrainingSource(source, leave_one_out, UNLESS_THEY_HARM)
