"""A fitted model at one moment: training rows in segments, their labels, and how they are ranked.

A `Model` never changes: `swnn_xp.model.changes` makes the next one from it, so that a reader who
holds one sees a consistent state, whatever other threads do.

A row has a *position*, its number over all segments, and an *id*, which users see. They differ once
rows have been removed and the model compacted. Both ascend together, so ties break alike. Only the
model knows about either: an index numbers its own rows from 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import ArrayLike, NDArray

from swnn_kernels.parallel import once_property
from swnn_kernels.records import Cap, check_voters, rows_to_rescore
from swnn_xp.backends import Index, Options, Placement, Settings
from swnn_xp.capped import Shortlist, best_of, merge_shortlists, shifted_shortlist
from swnn_xp.checks import check_width
from swnn_xp.model.targets import Targets
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.canonical import check_label_ids
from swnn_xp.rows.input_kind import as_texts, host_rows, is_host
from swnn_xp.rows.records import (
    VALUE_DTYPES,
    Array,
    LabelRows,
    QuantisedRows,
    ValueRows,
    keep_rows,
    slice_rows,
    stack_rows,
)
from swnn_xp.search import merge, shifted
from swnn_xp.store.files import MappedFiles
from swnn_xp.text.vectorizer import TextVectorizer


def known_names(**names: list[str] | None) -> dict[str, list[str]]:
    """Names by what they name, without those that are None."""
    return {what: known for what, known in names.items() if known is not None}


def extend_row_names(
    old: list[str] | None, n_old: int, new: list[str] | None, n_new: int
) -> list[str] | None:
    """Names of the rows after some were appended; rows without a name get one from their id.

    Examples
    --------
    >>> extend_row_names(None, 1, ["b"], 1)
    ['row 0', 'b']
    """
    if old is None and new is None:
        return None
    known = [f"row {i}" for i in range(n_old)] if old is None else old
    return known + ([f"row {n_old + i}" for i in range(n_new)] if new is None else new)


def extend_label_uris(
    old: list[str] | None, names: list[str] | None, n_labels: int
) -> list[str] | None:
    """Addresses of the labels after some were appended; a new label's is its name.

    Examples
    --------
    >>> extend_label_uris(["http://example.org/1"], ["old", "new"], 2)
    ['http://example.org/1', 'new']
    """
    if old is None or names is None:
        return old
    return old + names[len(old) : n_labels]


def label_id(label: int | str, names: list[str] | None, n_labels: int) -> int:
    """Turn a label's name or id into its id, or say that there is no such label.

    Examples
    --------
    >>> label_id("cold", ["warm", "cold"], 2)
    1
    """
    if isinstance(label, str):
        if names is None:
            raise ValueError(f"label {label!r} is a name, but the model has no label names")
        if label not in names:
            raise ValueError(f"no label is called {label!r}")
        return names.index(label)
    if not 0 <= label < n_labels:
        raise ValueError(f"label {label} is outside 0..{n_labels - 1}")
    return int(label)


class Queries:
    """Rows to be ranked, canonical: scaled by the feature weights for the search, and as given.

    Each form is quantised when it is first asked for, and once.
    """

    def __init__(
        self,
        rows: ValueRows,
        placement: Placement,
        feature_weights: NDArray[np.float64] | None = None,
    ) -> None:
        self._rows, self._placement, self._weights = rows, placement, feature_weights
        self._scaled: QuantisedRows | None = None  # queries belong to one call: no lock is needed
        self._unscaled: QuantisedRows | None = None
        self.n_rows = rows.n_rows

    def in_batches(
        self, options: Options, answer: Callable[[Queries, Options], tuple[Array, ...]]
    ) -> tuple[Array, ...]:
        """Answer all queries: rows on a device at once, rows on the host as the placement likes.

        ``answer`` gives arrays with a row for each query that it is called with.
        """
        if not is_host(self._rows.values):
            return answer(self, options)
        shared = options.divided(self._placement.n_lanes)
        return self._placement.in_batches(
            self.n_rows, lambda first, last: answer(self._part(first, last), shared)
        )

    def _part(self, first: int, last: int) -> Queries:
        if (first, last) == (0, self.n_rows):
            return self
        return Queries(slice_rows(self._rows, first, last), self._placement, self._weights)

    @property
    def scaled(self) -> QuantisedRows:
        """The rows scaled by the feature weights, as the indexed rows are: what is searched for."""
        if self._scaled is None:
            self._scaled = self._placement.quantise(self._rows, self._weights)
        return self._scaled

    @property
    def unscaled(self) -> QuantisedRows:
        """The rows as given, not scaled by feature weights: what label models score."""
        if self._weights is None:
            return self.scaled
        if self._unscaled is None:
            self._unscaled = self._placement.quantise(self._rows)
        return self._unscaled


class Extra(NamedTuple):
    """What a ranking stores beside the rows: arrays, and what JSON can hold."""

    arrays: Mapping[str, NDArray[Any]] = {}
    meta: Mapping[str, Any] = {}


MatrixOf = Literal["scores", "probabilities", "predicted"]
"""What a matrix (n_queries, n_labels) may hold."""
CSR = tuple[Array, Array, Array]
"""Pointers, labels and values."""
RowRanker = Callable[[Any, Any, Neighbours, int], Ranking]
"""Ranks the labels of one row, given its indices, values and neighbours (by position): best k."""


class LabelRanking(ABC):
    """How labels are ranked once a query's neighbours are known, and what was learned for it.

    A fitted model holds one: `swnn_xp.model.votes.VoteRanking` counts votes as published,
    `swnn_xp.learn.ranking.CandidateRanking` corrects the vote by label models. Whatever answers
    queries (batches, sessions, explanations, a cluster, the service) asks this interface. A ranking
    never changes, and gives the same bits wherever the model is.
    """

    postings: int = 0
    """Cap of the search; 0 if it is exact."""

    if TYPE_CHECKING:  # a field of one kind, computed by the other

        @property
        def settings(self) -> Settings:
            """How many neighbours vote, and the exponents of their weights and similarities."""

    def find(self, model: Model, queries: Queries, options: Options) -> Neighbours:
        """Find the neighbours that vote, by position."""
        S, _, beta = self.settings
        return model.search(queries.scaled, model.n_voters(S), beta, options, self.postings)

    def rank(self, model: Model, queries: Queries, k: int, options: Options) -> Ranking:
        """Rank labels: search, then `rank_found`, unless one call does both."""
        return self.rank_found(model, queries, self.find(model, queries, options), k, options)

    @abstractmethod
    def rank_found(
        self, model: Model, queries: Queries, found: Neighbours, k: int, options: Options
    ) -> Ranking:
        """Rank labels by given neighbours."""

    @abstractmethod
    def probabilities(self, best: Ranking, found: Neighbours) -> Array:
        """Probability of each ranked label, given the neighbours; 0 in empty slots."""

    @abstractmethod
    def matrices(
        self,
        model: Model,
        queries: Queries,
        wanted: Sequence[MatrixOf],
        threshold: float | str,
        options: Options,
    ) -> list[CSR]:
        """Scores or probabilities of all labels that got any, or those above the threshold."""

    @abstractmethod
    def explain(self, model: Model, queries: Queries, label: int, options: Options) -> Any:
        """Explain the score of one label for the only query."""

    @abstractmethod
    def kernel_session(self, model: Model, index: Any, settings: Settings, **options: Any) -> Any:
        """Open a session of the kernels that searches and ranks in one call: one segment only."""

    @abstractmethod
    def row_ranker(self, model: Model) -> RowRanker:
        """Make a function that ranks single rows whose neighbours come from several segments."""

    @abstractmethod
    def probabilities_one(self, scores: Any, similarities: Any) -> Any:
        """Probability of each ranked label of one row, given its neighbours' similarities."""

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError if what was learned, which may come from a file, can't be right."""

    @abstractmethod
    def stored(self) -> Extra:
        """Arrays and numbers that a saved model keeps."""


@dataclass(frozen=True, eq=False)
class Model:
    """Training rows, their labels, and which rows were removed."""

    segments: tuple[Index, ...]
    """Indexes of one backend over successive runs of rows, the oldest first."""
    placement: Placement
    """Where their arrays live."""
    labels: LabelRows
    """Labels by position, on the host. Use `checked_labels` wherever their ids are followed."""
    next_id: int
    """Id of the next row that is appended."""
    row_ids: NDArray[np.int64] | None = None
    """Id of each position; None while they are the same."""
    removed: NDArray[np.bool_] | None = None
    """Marks of positions that were removed; None if there are none."""
    names: Mapping[str, list[str]] = field(default_factory=dict)
    """``feature_names``, ``label_names``, ``row_names``: those that are known."""
    feature_space: str | None = None
    """Digest of the feature names, as a file has it; None for a model that was not saved."""
    targets: Targets = Targets()  # noqa: RUF009 (it never changes)
    """How labels were given to `fit`."""
    version: int = 0
    feature_weights: NDArray[np.float64] | None = None
    """Factors of the features, applied to rows before they are quantised; None for none."""
    vectorizer: TextVectorizer | None = None
    """Turns texts into rows; None for a model that takes rows only."""
    values: NDArray[Any] | None = None
    """Values of all rows as they were given, one after the other: what a ranker learns from again.
    None where nothing will. The indexes have the features."""
    excluded: LabelRows | None = None
    """Labels that training rows must not get, by position; they may come from a file."""
    ranking: LabelRanking = None  # type: ignore[assignment]  # rows are indexed before it is known
    """How labels are ranked, with what was learned for it."""
    untrusted: bool = False
    """Whether the labels came from a file: their ids are checked before they first vote."""
    origin: Placement | None = None
    """Where the model was before it was first moved; None if it never was."""

    mapped: MappedFiles | None = None
    """Files that the model was opened from and may still use; None if it was not opened."""

    def __getstate__(self) -> dict[str, Any]:
        # Without what is cached: copies on a device can't be pickled, and are quickly made again.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def with_ranking(self, ranking: LabelRanking) -> Model:
        """The same rows, ranked in another way; what was derived from them stays."""
        made = replace(self, ranking=ranking)
        known = dict(self.__dict__)  # other threads may be adding to it
        made.__dict__.update({n: v for n, v in known.items() if n not in made.__dict__})
        return made

    def keep_derived(self, other: Model, *names: str) -> None:
        """Take over what another model has derived from the same fields: copies on a device."""
        self.__dict__.update({n: other.__dict__[n] for n in names if n in other.__dict__})

    @property
    def backend(self) -> str:
        """Name of the backend."""
        return self.segments[0].backend

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.segments[0].n_features

    @property
    def n_positions(self) -> int:
        """Number of rows in all segments, the removed ones too."""
        return self.labels.n_rows

    @property
    def n_rows(self) -> int:
        """Number of rows not removed."""
        return self.n_positions - (0 if self.removed is None else int(self.removed.sum()))

    @once_property
    def offsets(self) -> tuple[int, ...]:
        """Position of each segment's first row."""
        sizes = [segment.n_rows for segment in self.segments]
        return tuple(int(offset) for offset in np.cumsum([0, *sizes[:-1]]))

    @once_property
    def checked_labels(self) -> LabelRows:
        """The labels; raises ValueError if they came from a file and an id is out of range."""
        if self.untrusted:
            check_label_ids(self.labels)
        return self.labels

    @once_property
    def label_counts(self) -> NDArray[np.int64]:
        """Number of rows not removed for each label."""
        labels = self.checked_labels
        if self.removed is not None:
            labels = keep_rows(labels, ~self.removed)
        return np.bincount(labels.indices, minlength=labels.n_labels).astype(np.int64, copy=False)

    def check_files(self) -> None:
        """Raise StoreError if a mapped file was changed since the model was opened."""
        if self.mapped is not None:
            self.mapped.check()

    def check(self) -> None:
        """Check every array; ValueError if they do not fit together."""
        for segment in self.segments:
            segment.check()
        _ = self.checked_labels
        if self.values is not None:
            self.value_rows()
        self.ranking.check()
        if self.vectorizer is not None:
            self.vectorizer.check()

    def rows(self) -> QuantisedRows:
        """Return the rows of all segments, on the host."""
        return stack_rows([segment.rows() for segment in self.segments])

    def rows_of(self, X: Any) -> Any:
        """Turn texts into a matrix, if X holds texts; anything else stays as it is."""
        texts = as_texts(X)
        if texts is None:
            return X
        if self.vectorizer is None:
            raise ValueError("X holds texts, but the model was fitted without a vectorizer")
        return self.vectorizer.transform(texts)

    def value_rows(self, rows: QuantisedRows | None = None) -> ValueRows:
        """Return the rows of all segments with their values as given; ValueError without these.

        ``rows`` are those of `rows`, if the caller has them already.
        """
        if self.values is None:
            raise ValueError("the model does not hold the values of its rows: call fit again")
        rows, values = rows or self.rows(), self.values
        fits = values.dtype in VALUE_DTYPES and values.shape == rows.indices.shape
        if not fits or not np.all(np.isfinite(values) & (values != 0)):
            raise ValueError("values must be one number other than 0 for each entry of the rows")
        return ValueRows(rows.indptr, rows.indices, values.astype(np.float64), rows.n_features)

    def queries(self, X: Any) -> Queries:
        """Bring a matrix of queries, or texts, into canonical rows."""
        rows = self.placement.canonical(self.rows_of(X), "X")
        check_width(rows.n_features, self.n_features)
        rows = rows._replace(n_features=self.n_features)
        return Queries(rows, self.placement, self.feature_weights)

    def search(
        self,
        queries: QuantisedRows,
        n_neighbors: int,
        beta: float,
        options: Options,
        postings: int = 0,
    ) -> Neighbours:
        """Find neighbours by position: search each segment and merge what they find.

        ``postings`` caps the search; 0 is exact.
        """
        if postings:
            return self._search_capped(queries, n_neighbors, beta, postings, options)
        best: Neighbours | None = None
        for segment, offset, removed in zip(
            self.segments, self.offsets, self.placed_removed, strict=True
        ):
            found = segment.search(queries, n_neighbors, beta, removed, options)
            found = shifted(found, offset) if offset else found
            best = found if best is None else merge(best, found, n_neighbors)
        assert best is not None
        return best

    def _search_capped(
        self, queries: QuantisedRows, n_neighbors: int, beta: float, postings: int, options: Options
    ) -> Neighbours:
        """Search within a cap; what any segment finds competes with what the others do."""
        cap = self.cap(postings, n_neighbors)
        if len(self.segments) == 1:
            (segment,) = self.segments
            queries = self._on_host(queries)
            found = segment.search_capped(queries, n_neighbors, beta, cap, self.removed, options)
        else:
            found = best_of(self.shortlist(queries, beta, cap, options), n_neighbors)
        return Neighbours(*map(self.placement.to_device, found))

    def shortlist(
        self, queries: QuantisedRows, beta: float, cap: Cap, options: Options
    ) -> Shortlist:
        """Find the rows that a capped search compares, by position, on the host."""
        queries, best = self._on_host(queries), None
        for segment, offset in zip(self.segments, self.offsets, strict=True):
            removed = self.removed
            if removed is not None:
                removed = removed[offset : offset + segment.n_rows]
            some = segment.shortlist(queries, beta, cap, removed, options)
            some = shifted_shortlist(some, offset)
            best = some if best is None else merge_shortlists(best, some, cap.n_rescored)
        assert best is not None
        return best

    def _on_host(self, queries: QuantisedRows) -> QuantisedRows:
        with self.placement.current():
            return host_rows(queries)

    def cap(self, postings: int, n_neighbors: int) -> Cap:
        """How far a capped search goes."""
        return Cap(postings, rows_to_rescore(postings, n_neighbors), self.feature_counts)

    @once_property
    def feature_counts(self) -> NDArray[np.int64]:
        """Number of rows not removed for each feature."""
        counts = np.zeros(self.n_features, np.int64)
        for segment, offset in zip(self.segments, self.offsets, strict=True):
            counts += segment.feature_counts
            if self.removed is not None:
                gone = self.removed[offset : offset + segment.n_rows]
                features = keep_rows(segment.kernel_index.forward, gone).indices
                counts -= np.bincount(features, minlength=self.n_features)
        return counts

    def n_voters(self, n_neighbors: int) -> int:
        """Number of neighbours that can vote: S may be far beyond the number of rows."""
        return check_voters(max(1, min(n_neighbors, self.n_positions)))

    def n_ranked(self, k: int) -> int:
        """Number of labels that can be ranked: k may be far beyond the number of labels."""
        return max(1, min(k, self.labels.n_labels))

    def with_ids(self, found: Neighbours) -> Neighbours:
        """Turn positions into ids; -1 stays."""
        known = self.placed_ids
        if known is None or not known.shape[0]:
            return found
        xp = array_namespace(found.ids)
        there = found.ids >= 0
        positions = xp.where(there, found.ids, xp.zeros_like(found.ids))
        ids = xp.reshape(xp.take(known, xp.reshape(positions, (-1,))), positions.shape)
        return Neighbours(found.similarities, xp.where(there, ids, found.ids))

    def id_of(self, position: int) -> int:
        """Id of the row at a position."""
        return position if self.row_ids is None else int(self.row_ids[position])

    def positions_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Positions of rows not removed, ascending; a ValueError names an id that has none."""
        wanted = np.unique(np.atleast_1d(np.asarray(ids)))
        if wanted.size and wanted.dtype.kind not in "iu":
            raise ValueError(f"row ids must be whole numbers, got dtype {wanted.dtype}")
        beyond = wanted >= self.next_id
        if beyond.any():  # before the cast, which would wrap a uint64
            raise ValueError(f"there is no row {wanted[beyond][0]}")
        wanted = wanted.astype(np.int64)
        positions = wanted if self.row_ids is None else np.searchsorted(self.row_ids, wanted)
        there = (positions >= 0) & (positions < self.n_positions)
        if self.row_ids is not None:
            there[there] = self.row_ids[positions[there]] == wanted[there]
        if self.removed is not None:
            there[there] = ~self.removed[positions[there]]
        if not there.all():
            raise ValueError(f"there is no row {wanted[~there][0]}")
        return positions

    def shared_features(self, position: int, features: Any) -> tuple[Any, Any]:
        """Find which of the ascending features a row has; see `Index.shared_features`."""
        at = int(np.searchsorted(self.offsets, position, side="right")) - 1
        return self.segments[at].shared_features(position - self.offsets[at], features)

    @once_property
    def placed_labels(self) -> Any:
        """The labels as the backend takes them, prepared once."""
        return self.placement.labels(self.checked_labels)

    @once_property
    def placed_ids(self) -> Array | None:
        """Id of each position, where the placement is; None while they are the same."""
        return None if self.row_ids is None else self.placement.to_device(self.row_ids)

    @once_property
    def placed_removed(self) -> tuple[Array | None, ...]:
        """Marks of removed rows for each segment."""
        removed = self.removed
        if removed is None:
            return (None,) * len(self.segments)
        return tuple(
            self.placement.to_device(removed[offset : offset + segment.n_rows])
            for segment, offset in zip(self.segments, self.offsets, strict=True)
        )
