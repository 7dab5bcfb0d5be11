"""Labels that a row names: those whose names are in it, wholly or for the most part.

A name is a set of features. It *matches* a row by the idf of its features that the row has, and its
containment is that over the idf of all its features. A label may have several names; its best one
counts. All sums are integers, in steps of ``2**-IDF_BITS``.

A name that the row contains to `CONTAINMENT` or more shares one of its rarest features with it:
names are listed under as many of their rarest features as that takes, mostly one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from swnn_kernels._numba import Table, inline, kernel, prefetch, struct_view, table
from swnn_kernels.answer.kernels import load_raw
from swnn_kernels.parallel import BufferPool, in_parallel
from swnn_kernels.records import (
    FRACTION_BITS,
    Bool,
    Float64,
    Int,
    Int32,
    Int64,
    QuantisedRows,
    Uint8,
    Uint16,
    check_indptr,
    check_n_jobs,
    frozen,
)

IDF_BITS = 12
"""The idf of a feature is an integer in steps of 2**-12."""
MAX_WHOLE = 2**31 - 1
"""Largest idf of a name: its square fits into an int64."""
CONTAINMENT = 3, 5
"""A name counts from this containment on: three fifths."""
N_LISTED = 40
"""Labels that are listed for a row, at most."""
CONTAINMENT_EDGES = (7, 10), (17, 20), (1, 1)
COUNT_EDGES = 1, 2, 4, 8, 16, 64
"""Training rows of a label at which the next class begins."""
MATCHED_EDGES = 4, 6, 8, 10, 12, 15, 20
"""Matched idf at which the next bin begins."""
RELIABILITY_BITS = 12
_EDGES = 0.005, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9
RELIABILITY = tuple(round(edge * 2**RELIABILITY_BITS) for edge in _EDGES)
"""Reliabilities at which the next bin begins."""
MAX_TOKENS = 6
PLACES = 1, 2, 3, 5, 8, 13, 20
"""Places among the labels listed, the best being 0, at which the next bin begins."""
_SHARES = 0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6
SHARES = tuple(round(share * 4**FRACTION_BITS) for share in _SHARES)
"""Shares of the row's squared length, in its quantised units, at which the next bin begins."""
_CLASSES = len(COUNT_EDGES) + 1
TABLES = (
    1 + (len(CONTAINMENT_EDGES) + 1) * _CLASSES,
    1 + (len(MATCHED_EDGES) + 1) * _CLASSES,
    1 + (len(RELIABILITY) + 1) * _CLASSES,
    1 + MAX_TOKENS,
    1 + len(PLACES) + 1,
    1 + (len(SHARES) + 1) * _CLASSES,
)
"""Categories of each table of evidence; 0 is that of labels that are not listed."""
_N_TABLES = len(TABLES)
_MAX_ROWS = 2**40  # so that reliabilities fit into an int64
_NONE = np.int64(-1)
_NO_WEIGHTS = frozen(np.zeros(0))


class Names(NamedTuple):
    """Names of labels and what is known of them, made by `prepare`."""

    indptr: Int64  # (n_names + 1,)
    features: Int32  # the rarest first; none that a row can't have
    wholes: Int64  # (n_names,): idf of all features, also of those that no row can have
    sizes: Uint8  # (n_names,): number of all features, at most MAX_TOKENS
    labels: Int32  # (n_names,)
    idf: Int32  # (n_features,)
    starts: Int64  # (n_features + 1,): where a feature's list of names begins
    listed: Int32  # names by one of their rarest features
    holders: Int64  # (n_names,): training rows that contain the whole name
    right: Int64  # (n_names,): those of them that have the label
    prior: int  # share of them over all names, in steps of 2**-RELIABILITY_BITS
    counts: Int64  # (n_labels,): training rows of each label
    n_listed: int  # labels that are listed for a row

    @classmethod
    def prepare(
        cls,
        rows: tuple[np.ndarray, np.ndarray],
        labels: np.ndarray,
        idf: np.ndarray,
        unknown: int,
        counts: np.ndarray,
        reliability: tuple[np.ndarray, np.ndarray, int] | None = None,
        n_listed: int = N_LISTED,
    ) -> Self:
        """List names under their rarest features.

        Parameters
        ----------
        rows : indptr, features
            Names as sparse rows: features ascend in a name. From ``idf.size`` on they are features
            that no row can have.
        labels : array of int32, (n_names,)
            Whose name it is.
        idf : array of int32, (n_features,)
            Of each feature, in steps of 2**-12, above 0.
        unknown : int
            Idf of a feature that no row can have.
        counts : array of int64, (n_labels,)
            Training rows of each label.
        reliability : holders, right, prior, optional
            What `count_holders` found.
        n_listed : int
            Labels to list for a row, at most.

        Examples
        --------
        >>> rows = np.asarray([0, 2, 3]), np.asarray([0, 1, 0])
        >>> idf, counts = np.asarray([4096, 8192]), np.zeros(2, np.int64)
        >>> names = Names.prepare(rows, np.asarray([0, 1]), idf, 9000, counts)
        >>> names.features.tolist(), names.starts.tolist(), names.listed.tolist()
        ([1, 0, 0], [0, 1, 2], [1, 0])
        """
        idf = np.ascontiguousarray(idf, np.int32)
        features, of_name, wholes, sizes = _rarest_first(rows, idf, unknown)
        n_names = sizes.size
        known = features < idf.size
        features, of_name = features[known], of_name[known]
        indptr = _pointers(np.bincount(of_name, minlength=n_names))
        is_listed = _needed(indptr, of_name, idf[features].astype(np.int64), wholes)
        order = np.argsort(features[is_listed], kind="stable")
        starts = _pointers(np.bincount(features[is_listed], minlength=idf.size))
        none = np.zeros(n_names, np.int64)
        holders, right, prior = (none, none, 0) if reliability is None else reliability
        arrays = {
            "indptr": indptr,
            "features": features.astype(np.int32),
            "wholes": wholes,
            "sizes": np.minimum(sizes, MAX_TOKENS).astype(np.uint8),
            "labels": np.ascontiguousarray(labels, np.int32),
            "idf": idf,
            "starts": starts,
            "listed": of_name[is_listed][order].astype(np.int32),
            "holders": np.ascontiguousarray(holders, np.int64),
            "right": np.ascontiguousarray(right, np.int64),
            "counts": np.ascontiguousarray(counts, np.int64),
        }
        stored: Any = {name: frozen(array) for name, array in arrays.items()}
        return cls(**stored, prior=int(prior), n_listed=min(n_listed, len(counts)))

    @property
    def n_features(self) -> int:
        """Number of features that a row can have."""
        return int(self.idf.size)


def _pointers(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _rarest_first(
    rows: tuple[np.ndarray, np.ndarray], idf: np.ndarray, unknown: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features of all names, the rarest of a name first; the name of each; idf and size of each."""
    indptr, features = rows[0], np.asarray(rows[1], np.int64)
    check_indptr(indptr, features.size, "names")
    sizes = np.diff(indptr)
    of_name = np.repeat(np.arange(sizes.size), sizes)
    padded = np.append(idf, unknown).astype(np.int64)
    own = padded[np.minimum(features, idf.size)]
    order = np.lexsort((features, -own, of_name))
    before = np.concatenate([[0], np.cumsum(own)])
    wholes = before[indptr[1:]] - before[indptr[:-1]]
    if wholes.max(initial=0) > MAX_WHOLE:
        raise ValueError(
            f"name {int(np.argmax(wholes))} has {int(sizes[np.argmax(wholes)])} features: "
            "a name this long is a text"
        )
    return features[order], of_name, wholes, sizes


def _needed(
    indptr: np.ndarray, of_name: np.ndarray, idf: np.ndarray, wholes: np.ndarray
) -> np.ndarray:
    """Which features a name is listed under: without any of them it can't be contained enough."""
    above, below = CONTAINMENT
    ends = np.cumsum(idf)
    last = np.concatenate([[0], ends])[indptr[1:]]
    left: np.ndarray = last[of_name] - (ends - idf)  # of this feature and those after it
    needed: np.ndarray = left * below >= wholes[of_name] * above
    return needed


class Match(NamedTuple):
    """The names found for one query, best first: buffers of one thread."""

    qualities: Int64  # (n_listed,)
    names: Int64
    matched: Int64
    marks: Int64  # (n_features,): 1 + the squared value, if the query has it; else zeros
    indices: Int32  # a raw query, quantised
    values: Float64
    quantised: Int32


class MatchCall(NamedTuple):
    """Queries, the names to look for in them, and where labels and bins go."""

    names: Names
    match: Match
    queries: QuantisedRows
    left_out: Int64  # (n_queries,): training rows like the query that are not to count
    own_indptr: Int64  # the labels of these
    own_labels: Int32
    out_labels: Int32  # (n_queries * n_listed,)
    out_bins: Uint16  # (n_queries * n_listed * n_tables,)
    out_names: Int32  # (n_queries * n_listed,)
    raw_indptr: Int64  # (2,): pointers of the raw query once it is loaded
    raw_indices: Int64  # the raw query as it came
    raw_values: Float64


_open_call = struct_view(MatchCall)


@inline
def _matched(names: Names, name: Int, feature: Int, marks: Int64) -> Int:
    """Idf of a name's features that the query has, if it is enough and ``feature`` the first."""
    first, last = names.indptr[name], names.indptr[name + 1]
    total, is_first = np.int64(0), True
    for p in range(np.uint64(first), np.uint64(last)):
        own = np.int64(names.features[p])
        if marks[np.uint64(own)] != 0:
            if is_first and own != feature:
                return _NONE  # it was found under that one
            is_first = False
            total += np.int64(names.idf[np.uint64(own)])
    if total * CONTAINMENT[1] < names.wholes[name] * CONTAINMENT[0]:
        return _NONE
    return total


@inline
def _keep(names: Names, match: Match, held: Int, name: Int, matched: Int) -> Int:
    """Offer a name to the best labels so far; return how many there are."""
    quality, label = matched * matched // names.wholes[name], names.labels[name]
    if held == names.n_listed and quality < match.qualities[held - 1]:
        return held  # also worse than another name of its label, if that is held
    at = held
    for i in range(held):
        if names.labels[match.names[i]] == label:
            if match.qualities[i] > quality or (
                match.qualities[i] == quality and match.names[i] < name
            ):
                return held
            at = i
            break
    if at == held:
        if held == names.n_listed:
            at = held - 1
            worst = names.labels[match.names[at]]
            if match.qualities[at] > quality or (match.qualities[at] == quality and worst < label):
                return held
        else:
            held += 1
    while at > 0:
        before = names.labels[match.names[at - 1]]
        better = match.qualities[at - 1]
        if better > quality or (better == quality and before < label):
            break
        match.qualities[at], match.names[at] = match.qualities[at - 1], match.names[at - 1]
        match.matched[at] = match.matched[at - 1]
        at -= 1
    match.qualities[at], match.names[at], match.matched[at] = quality, name, matched
    return held


@inline
def _mark(match: Match, queries: QuantisedRows, first: Int, last: Int) -> None:
    """Mark the features of a query."""
    for p in range(first, last):
        value = np.int64(queries.quantised[p])
        match.marks[queries.indices[p]] = 1 + value * value


@inline
def _clear(match: Match, indices: Int32, first: Int, last: Int) -> None:
    """Set the entries that `_mark` has written to zeros again."""
    for p in range(first, last):
        match.marks[indices[p]] = 0


@inline
def _find(names: Names, match: Match, indices: Int32, first: Int, last: Int) -> Int:
    """Find the best labels by name of one query, whose features are marked; return their number."""
    held = np.int64(0)
    for p in range(first, last):
        prefetch(names.starts, indices[p])
    for p in range(first, last):
        feature = np.int64(indices[p])
        start, stop = names.starts[feature], names.starts[feature + 1]
        for i in range(start, stop):
            name = np.int64(names.listed[i])
            matched = _matched(names, name, feature, match.marks)
            if matched != _NONE:
                held = _keep(names, match, held, name, matched)
    return held


@inline
def _squares(names: Names, name: Int, marks: Int64) -> Int:
    """Squared length of the query that the features of a name have."""
    total = np.int64(0)
    for p in range(names.indptr[name], names.indptr[name + 1]):
        mark = marks[names.features[p]]
        total += mark - np.int64(mark > 0)
    return total


@inline
def _steps(value: Int, edges: tuple[Int, ...], unit: Int) -> Int:
    """How many edges, times a unit, a value reaches."""
    reached = np.int64(0)
    for edge in edges:
        reached += np.int64(value >= edge * unit)
    return reached


@inline
def _containment_bin(matched: Int, whole: Int) -> Int:
    reached = np.int64(0)
    for above, below in CONTAINMENT_EDGES:
        reached += np.int64(matched * below >= whole * above)
    return reached


@inline
def _has_label(labels: Int32, low: Int, end: Int, label: Int) -> Bool:
    """Whether a label is among those of a row, which ascend."""
    high = end
    while low < high:
        middle = (low + high) // 2
        if labels[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low < end and labels[low] == label


@inline
def _fill_bins(
    names: Names, match: Match, place: Int, left_out: Int, is_own: Bool, bins: Uint16, at: Int
) -> None:
    """Write the evidence of the label at a place of the list, from ``bins[at]`` on."""
    name, matched = match.names[place], match.matched[place]
    label, whole = names.labels[name], names.wholes[name]
    count = names.counts[label] - (left_out if is_own else 0)
    count_class = _steps(count, COUNT_EDGES, 1)
    containment = _containment_bin(matched, whole)
    holders, right = names.holders[name], names.right[name]
    if matched == whole:
        holders -= left_out
        right -= left_out if is_own else 0
    sure = ((right << RELIABILITY_BITS) + 2 * names.prior) // (holders + 2)
    bins[at] = 1 + containment * _CLASSES + count_class
    bins[at + 1] = 1 + _steps(matched, MATCHED_EDGES, 1 << IDF_BITS) * _CLASSES + count_class
    bins[at + 2] = 1 + _steps(sure, RELIABILITY, 1) * _CLASSES + count_class
    bins[at + 3] = names.sizes[name]
    bins[at + 4] = 1 + _steps(place, PLACES, 1)
    share = _steps(_squares(names, name, match.marks), SHARES, 1)
    bins[at + 5] = 1 + share * _CLASSES + count_class


@kernel
def _match_names(call_table: Table[MatchCall], size: Int) -> None:
    """List the labels of all queries.

    If ``size`` is not -1: those of the raw query of that size, which a search has accepted.
    """
    call = _open_call(call_table)
    names, match, queries = call.names, call.match, call.queries
    if size >= 0:
        raw = call.raw_indices[:size], call.raw_values[:size]
        call.raw_indptr[1] = load_raw(match, _NO_WEIGHTS, match.marks.size, *raw)
    for q in range(queries.indptr.size - 1):
        first, last = queries.indptr[q], queries.indptr[q + 1]
        _mark(match, queries, first, last)
        held = _find(names, match, queries.indices, first, last)
        left_out = call.left_out[q] if call.left_out.size else np.int64(0)
        for i in range(names.n_listed):
            out = q * names.n_listed + i
            call.out_labels[out] = -1
            call.out_names[out] = -1
            for t in range(_N_TABLES):
                call.out_bins[out * _N_TABLES + t] = 0
            if i >= held:
                continue
            name = match.names[i]
            label = names.labels[name]
            call.out_labels[out] = label
            call.out_names[out] = name
            is_own = False
            if left_out > 0:
                own = call.own_indptr[q], call.own_indptr[q + 1]
                is_own = _has_label(call.own_labels, own[0], own[1], label)
            _fill_bins(names, match, np.int64(i), left_out, is_own, call.out_bins, out * _N_TABLES)
        _clear(match, queries.indices, first, last)


_NO_ROWS = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32)
_NO_RAW_QUERY = np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0)


def make_match(names: Names, longest: int = 0) -> Match:
    """Buffers of one thread, for raw queries up to a length."""
    first, second, third = (np.zeros(names.n_listed, np.int64) for _ in range(3))
    raw = np.zeros(longest, np.int32), np.zeros(longest), np.zeros(longest, np.int32)
    return Match(first, second, third, np.zeros(names.n_features, np.int64), *raw)


class Found(NamedTuple):
    """Labels whose names are in the queries, best first; see `match_names`."""

    labels: np.ndarray  # (n_queries, n_listed) int32, -1 where there is none
    bins: np.ndarray  # (n_queries, n_listed, n_tables) uint16
    names: np.ndarray  # (n_queries, n_listed) int32: the label's best name


class LeftOut(NamedTuple):
    """Queries that are training rows: each is to be answered as if it were not."""

    copies: np.ndarray  # (n_queries,) int64: training rows like it, itself among them
    indptr: np.ndarray  # its labels
    labels: np.ndarray


def bind_match(
    names: Names,
    match: Match,
    queries: QuantisedRows,
    out: Found,
    left_out: LeftOut | None = None,
    raw: tuple[np.ndarray, np.ndarray, np.ndarray] = _NO_RAW_QUERY,
) -> Callable[[int], None]:
    """Bind the kernel to queries in canonical form and to the arrays of its answers.

    The function takes -1, or the size of the raw query, which is loaded into the buffers.
    """
    flat = (out.labels.reshape(-1), out.bins.reshape(-1), out.names.reshape(-1))
    own = _NO_ROWS if left_out is None else left_out
    parts: Any = table(names), table(match), table(queries), *own, *flat, *raw
    return partial(_match_names, table(MatchCall(*parts)))


def match_names(
    names: Names,
    queries: QuantisedRows,
    left_out: LeftOut | None = None,
    *,
    n_jobs: int = 1,
    pool: BufferPool | None = None,
) -> Found:
    """Find the labels whose names the queries contain to three fifths or more.

    Parameters
    ----------
    names : Names
    queries : QuantisedRows
    left_out : LeftOut, optional
        If the queries are themselves training rows.
    n_jobs : int
    pool : BufferPool, optional
        Of these names: buffers of the calls before.

    Returns
    -------
    Found
        Of each query the best labels by containment times matched idf, then the smaller label.

    Examples
    --------
    >>> rows = np.asarray([0, 2, 3]), np.asarray([0, 1, 0])
    >>> idf, counts = np.asarray([4096, 8192]), np.zeros(2, np.int64)
    >>> names = Names.prepare(rows, np.asarray([0, 1]), idf, 9000, counts)
    >>> queries = QuantisedRows(np.asarray([0, 1, 3]), np.asarray([0, 0, 1]), np.ones(3), 2)
    >>> match_names(names, queries).labels.tolist()
    [[1, -1], [0, 1]]
    """
    queries = queries.prepared()
    if queries.n_features > names.n_features:
        raise ValueError(f"queries have {queries.n_features} features, not {names.n_features}")
    shape = queries.n_rows, names.n_listed
    out = Found(
        np.empty(shape, np.int32), np.empty((*shape, _N_TABLES), np.uint16),
        np.empty(shape, np.int32),
    )  # fmt: skip
    if left_out is not None:
        copies, indptr, labels = left_out
        left_out = LeftOut(
            frozen(np.ascontiguousarray(copies, np.int64)),
            frozen(np.ascontiguousarray(indptr, np.int64)),
            frozen(np.ascontiguousarray(labels, np.int32)),
        )
    pool = BufferPool() if pool is None else pool

    def answer(first: int, last: int) -> None:
        mine = queries._replace(indptr=queries.indptr[first : last + 1])
        part = Found(*(array[first:last] for array in out))
        own = left_out
        if own is not None:
            own = LeftOut(own.copies[first:last], own.indptr[first : last + 1], own.labels)
        with pool.lend(lambda held: True, lambda: make_match(names)) as match:
            bind_match(names, match, mine, part, own)(-1)

    in_parallel(answer, queries.n_rows, check_n_jobs(n_jobs))
    return out


class CountCall(NamedTuple):
    """Training rows, and where the counts of each name go."""

    names: Names
    match: Match
    rows: QuantisedRows
    label_indptr: Int64
    label_indices: Int32
    holders: Int64
    right: Int64


_open_count = struct_view(CountCall)


@kernel
def _count_holders(call_table: Table[CountCall]) -> None:
    """Count for each name the rows that contain it wholly, and those of them with the label."""
    call = _open_count(call_table)
    names, rows, marks = call.names, call.rows, call.match.marks
    for row in range(rows.indptr.size - 1):
        first, last = rows.indptr[row], rows.indptr[row + 1]
        for p in range(first, last):
            marks[rows.indices[p]] = 1
        for p in range(first, last):
            feature = np.int64(rows.indices[p])
            for i in range(names.starts[feature], names.starts[feature + 1]):
                name = np.int64(names.listed[i])
                if _matched(names, name, feature, marks) == names.wholes[name]:
                    own = call.label_indptr[row], call.label_indptr[row + 1]
                    label = names.labels[name]
                    call.holders[name] += 1
                    call.right[name] += np.int64(
                        _has_label(call.label_indices, own[0], own[1], label)
                    )
        for p in range(first, last):
            marks[rows.indices[p]] = 0


def count_holders(
    names: Names, rows: QuantisedRows, labels: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, int]:
    """Count how often rows with a whole name have its label: what makes names reliable.

    Parameters
    ----------
    names : Names
    rows : QuantisedRows
        Training rows.
    labels : indptr, indices
        Their labels.

    Returns
    -------
    holders, right : arrays of int64, (n_names,)
        Rows that contain the whole name, and those of them that have the label.
    prior : int
        Share of the second in the first over all names, in steps of 2**-12.

    Examples
    --------
    >>> name = np.asarray([0, 1]), np.asarray([1])
    >>> idf, counts = np.asarray([4096, 8192]), np.asarray([1])
    >>> names = Names.prepare(name, np.asarray([0]), idf, 9000, counts)
    >>> rows = QuantisedRows(np.arange(4), np.asarray([1, 1, 0]), np.ones(3), 2)
    >>> labels = np.asarray([0, 1, 1, 1]), np.asarray([0])
    >>> [*map(str, count_holders(names, rows, labels))]
    ['[2]', '[1]', '2048']
    """
    holders, right = (np.zeros(names.labels.size, np.int64) for _ in range(2))
    indptr = frozen(np.ascontiguousarray(labels[0], np.int64))
    indices = frozen(np.ascontiguousarray(labels[1], np.int32))
    rows = rows.prepared()
    parts: Any = (
        table(names),
        table(make_match(names)),
        table(rows),
        indptr,
        indices,
        holders,
        right,
    )
    _count_holders(table(CountCall(*parts)))
    known = int(right.sum()) << RELIABILITY_BITS
    return holders, right, known // max(1, int(holders.sum()))


class NameSession:
    """Finds labels by name for one raw query at a time; use one for each thread.

    Parameters
    ----------
    names : Names

    Examples
    --------
    >>> rows = np.asarray([0, 2, 3]), np.asarray([0, 1, 0])
    >>> idf, counts = np.asarray([4096, 8192]), np.zeros(2, np.int64)
    >>> names = Names.prepare(rows, np.asarray([0, 1]), idf, 9000, counts)
    >>> found = NameSession(names).match(np.asarray([0, 1]), np.asarray([1.0, 0.0]))
    >>> found.labels.tolist()
    [[1, -1]]
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        shape = 1, names.n_listed
        self._found = Found(
            np.empty(shape, np.int32), np.zeros((*shape, _N_TABLES), np.uint16),
            np.empty(shape, np.int32),
        )  # fmt: skip
        self._bind(256)

    def _bind(self, longest: int) -> None:
        match = make_match(self._names, longest)
        self._raw = np.zeros(2, np.int64), np.zeros(longest, np.int64), np.zeros(longest)
        loaded = QuantisedRows(self._raw[0], match.indices, match.quantised, self._names.n_features)
        self._run = bind_match(self._names, match, loaded, self._found, raw=self._raw)

    def match(self, indices: np.ndarray, values: np.ndarray) -> Found:
        """Find the labels of a raw query: features, without repeats, and their values."""
        size = indices.size
        if size > self._raw[1].size:
            self._bind(2 * size)
        self._raw[1][:size], self._raw[2][:size] = indices, values
        self._run(size)
        return self._found
