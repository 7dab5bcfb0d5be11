"""Labels found by their names: the words of a name as features, and the search for them.

A label's *features* are one or several sparse rows, its names. `words_of` splits a name given as
text, `features_of_names` looks its words up among the features. `match_block` finds names by
array-API functions, as `swnn_kernels.learn.names` does by kernels: the same integers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from swnn_kernels.learn.names import (
    CONTAINMENT,
    CONTAINMENT_EDGES,
    COUNT_EDGES,
    IDF_BITS,
    MATCHED_EDGES,
    PLACES,
    RELIABILITY,
    RELIABILITY_BITS,
    SHARES,
    TABLES,
    Names,
)
from swnn_xp.rows.canonical import canonical_rows
from swnn_xp.rows.input_kind import host_matrix
from swnn_xp.rows.records import Array, QuantisedRows
from swnn_xp.text.vectorizer import TextVectorizer

_WORDS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_COMMON = 0.5  # a word that more than this share of the names begins with is a prefix of all


class LabelFeatures(NamedTuple):
    """Names of labels as sparse rows of features, one or several for each label."""

    indptr: NDArray[np.int64]  # (n_names + 1,)
    features: NDArray[np.int32]  # ascending in a name; some may be beyond those of the rows
    labels: NDArray[np.int32]  # (n_names,): whose name it is


NO_NAMES = LabelFeatures(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))


def words_of(name: str) -> list[str]:
    """Split a name into words: runs of letters and digits, and the parts of camelCase.

    Examples
    --------
    >>> words_of("ResourceBundle_Message:source-2")
    ['resource', 'bundle', 'message', 'source', '2']
    """
    return [word.lower() for run in _WORDS.findall(name) for word in _CAMEL.split(run)]


def _other_number(word: str) -> str:
    return word[:-1] if word.endswith("s") else word + "s"


def features_of_names(
    names: Iterable[str],
    labels: Iterable[int],
    vocabulary: Mapping[str, int],
    words: Callable[[str], Sequence[str]] = words_of,
) -> LabelFeatures:
    """Look up the words of names among the features.

    A word that is no feature counts as one that no row has. Singular and plural are tried where a
    word as it stands is no feature. A first word that most names share says nothing: it is left
    out.

    Parameters
    ----------
    names : iterable of str
    labels : iterable of int
        Whose name each is.
    vocabulary : mapping of str to int
        Features by their names.
    words : callable
        Splits a name.

    Examples
    --------
    >>> found = features_of_names(["TAG_web", "TAG_semantic_webs"], [0, 1], {"web": 0, "tag": 1})
    >>> found.indptr.tolist(), found.features.tolist()
    ([0, 1, 3], [0, 0, 2])
    """
    split, owners = [list(words(name)) for name in names], np.asarray([*labels], np.int32)
    firsts = Counter(parts[0] for parts in split if parts)
    usual = {word for word, n in firsts.items() if len(split) > 1 and n > _COMMON * len(split)}
    n_features = max(vocabulary.values(), default=-1) + 1
    numbers: dict[str, int] = {}
    rows = []
    for parts in split:
        if len(parts) > 1 and parts[0] in usual:
            parts = parts[1:]
        ids = set()
        for word in parts:
            found = vocabulary.get(word, vocabulary.get(_other_number(word)))
            if found is None:
                found = numbers.setdefault(word, n_features + len(numbers))
            ids.add(found)
        rows.append(sorted(ids))
    sizes = np.asarray([len(row) for row in rows], np.int64)
    flat = np.fromiter((i for row in rows for i in row), np.int64, int(sizes.sum()))
    return LabelFeatures(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), flat.astype(np.int32), owners
    )


class Vocabulary(NamedTuple):
    """How names become features."""

    features: Mapping[str, int]
    words: Callable[[str], Sequence[str]]

    @classmethod
    def of(cls, feature_names: Sequence[str] | None, vectorizer: TextVectorizer | None) -> Self:
        """Of a model: its own analyser if it takes texts, else the names of its features."""
        if vectorizer is not None:
            return cls(vectorizer.vocabulary, vectorizer.analyze)
        if feature_names is None:
            raise ValueError(
                "names of labels need names of features to be found by: give feature_names or a "
                "vectorizer, or label_features as a matrix"
            )
        known: dict[str, int] = {}
        for i, name in enumerate(feature_names):
            known.setdefault(name.lower(), i)
        return cls(known, words_of)


Given = Any
"""Label features as users give them: a matrix, "names", or the names of each label."""


def label_features(
    given: Given,
    label_of: Any,
    n_labels: int,
    n_features: int,
    label_names: Sequence[str] | None,
    vocabulary: Callable[[], Vocabulary],
) -> LabelFeatures:
    """Bring label features to sparse rows, in whatever form they were given.

    Parameters
    ----------
    given : matrix, "names", or a list with a name or a list of names for each label
    label_of : array of int or None
        Whose name each row of a matrix is.
    n_labels, n_features : int
    label_names : list of str or None
        What "names" stands for.
    vocabulary : callable
        Gives the model's vocabulary, or says what is missing.

    Examples
    --------
    >>> words = Vocabulary({"cold": 0, "common": 1}, words_of)
    >>> label_features([["cold", "common cold"]], None, 1, 2, None, lambda: words).features.tolist()
    [0, 0, 1]
    """
    if isinstance(given, str) and given != "names":
        raise ValueError(f"label_features must be a matrix, 'names' or names, got {given!r}")
    if isinstance(given, str):
        if label_names is None:
            raise ValueError("label_features='names' needs the names of the labels: label_names")
        given = list(label_names)
    if isinstance(given, list | tuple) and _are_names(given):
        if label_of is not None:
            raise ValueError("label_of goes with a matrix of label features")
        if len(given) != n_labels:
            raise ValueError(f"label_features has names of {len(given)} labels, not {n_labels}")
        lists = [[names] if isinstance(names, str) else list(names) for names in given]
        owners = np.repeat(np.arange(n_labels), [len(names) for names in lists])
        flat = [
            name.rpartition("\t")[2] for names in lists for name in names
        ]  # an id may come first
        features, words = vocabulary()
        return features_of_names(flat, owners, features, words)
    rows = canonical_rows(host_matrix(given), "label_features")
    if rows.n_features > n_features:
        raise ValueError(
            f"label_features has {rows.n_features} features, but X has {n_features}: they must be "
            "the same"
        )
    owners = np.arange(n_labels) if label_of is None else np.asarray(label_of)
    if owners.shape != (rows.n_rows,):
        what = "labels" if label_of is None else "entries of label_of"
        raise ValueError(f"label_features has {rows.n_rows} rows for {owners.size} {what}")
    if owners.dtype.kind not in "iu":
        raise ValueError(f"label_of must hold label ids, got dtype {owners.dtype}")
    if owners.size and not 0 <= owners.min() <= owners.max() < n_labels:
        raise ValueError(f"label_of must lie in 0..{n_labels - 1}")
    return LabelFeatures(rows.indptr, rows.indices.astype(np.int32), owners.astype(np.int32))


def _are_names(given: Sequence[Any]) -> bool:
    return all(
        isinstance(one, str)
        or (isinstance(one, list | tuple) and all(isinstance(name, str) for name in one))
        for one in given
    )


def join_features(old: LabelFeatures, new: LabelFeatures) -> LabelFeatures:
    """Names of the labels so far, and of those that come behind them."""
    return LabelFeatures(
        np.concatenate([old.indptr, new.indptr[1:] + old.indptr[-1]]),
        np.concatenate([old.features, new.features]),
        np.concatenate([old.labels, new.labels]),
    )


def idf_of_counts(n_rows_of: NDArray[np.int64], n_rows: int) -> NDArray[np.int32]:
    """Idf of features by the number of rows that have them, in steps of 2**-12.

    Examples
    --------
    >>> (idf_of_counts(np.asarray([0, 4]), 4) / 2**IDF_BITS).round(2).tolist()
    [2.61, 1.0]
    """
    # Rounded twice: the last bits of NumPy's logarithm differ between processors and versions.
    exact = np.log((1 + n_rows) / (1 + n_rows_of)) + 1
    return np.rint(np.round(exact, 9) * 2**IDF_BITS).astype(np.int32)


class Listed(NamedTuple):
    """What `match_block` finds."""

    labels: Array  # (n_queries, n_listed) int32, -1 where there is none
    bins: Array  # (n_queries, n_listed, n_tables)


def match_block(names: Names, queries: QuantisedRows) -> Listed:
    """Find labels by name with standard array-API functions only; arrays of one library."""
    xp, dev = array_namespace(queries.indices), device(queries.indices)
    found = _best_of_labels(names, _matched(names, queries))
    n = queries.n_rows
    numbers = xp.arange(n, dtype=xp.int64, device=dev)
    first = xp.searchsorted(found.query, numbers)
    last = xp.searchsorted(found.query, numbers, side="right")
    slots = first[:, None] + xp.arange(names.n_listed, dtype=xp.int64, device=dev)[None, :]
    there = slots < last[:, None]
    if found.query.shape[0] == 0:  # nothing to take
        labels = xp.full((n, names.n_listed), -1, dtype=xp.int32, device=dev)
        return Listed(
            labels, xp.zeros((n, names.n_listed, len(TABLES)), dtype=xp.int64, device=dev)
        )
    flat = xp.reshape(xp.where(there, slots, xp.zeros_like(slots)), (-1,))
    own = xp.take(found.name, flat)
    labels = xp.reshape(xp.take(names.labels, own), slots.shape)
    labels = xp.where(there, labels, xp.full_like(labels, -1))
    place = xp.reshape(slots - first[:, None], (-1,))
    bins = _bins(names, own, xp.take(found.matched, flat), place, xp.take(found.squares, flat))
    bins = xp.reshape(xp.stack(bins, axis=1), (n, names.n_listed, len(TABLES)))
    bins = xp.where(there[:, :, None], bins, xp.zeros_like(bins))
    return Listed(labels, bins)


class _Found(NamedTuple):
    """Names found, by query and then by name, and what of both is the same."""

    query: Array
    name: Array
    matched: Array  # idf
    squares: Array  # of the query's values


def _matched(names: Names, queries: QuantisedRows) -> _Found:
    """Find all names that the queries contain to three fifths or more."""
    xp, dev = array_namespace(queries.indices), device(queries.indices)
    n_names, width = max(1, int(names.labels.shape[0])), max(1, queries.n_features)
    numbers = xp.arange(queries.n_rows, dtype=xp.int64, device=dev)
    at_row = xp.repeat(numbers, queries.indptr[1:] - queries.indptr[:-1])
    features = xp.astype(queries.indices, xp.int64)
    entry, place = _spread(names.starts, features)
    listed = xp.astype(xp.take(names.listed, place), xp.int64)
    pairs = xp.unique_values(xp.take(at_row, entry) * n_names + listed)
    query, name = pairs // n_names, pairs % n_names
    pair, place = _spread(names.indptr, name)
    feature = xp.astype(xp.take(names.features, place), xp.int64)
    keys, wanted = at_row * width + features, xp.take(query, pair) * width + feature
    at = xp.searchsorted(keys, wanted)
    at = xp.where(at < keys.shape[0], at, xp.zeros_like(at))
    has = xp.take(keys, at) == wanted if keys.shape[0] else wanted != wanted
    sizes = xp.take(names.indptr, name + 1) - xp.take(names.indptr, name)
    ends = xp.cumulative_sum(sizes, dtype=xp.int64, include_initial=True)

    def sum_of(values: Array) -> Array:
        there = xp.where(has, values, xp.zeros_like(values))
        running = xp.cumulative_sum(there, dtype=xp.int64, include_initial=True)
        return xp.take(running, ends[1:]) - xp.take(running, ends[:-1])

    matched = sum_of(xp.astype(xp.take(names.idf, feature), xp.int64))
    values = xp.astype(queries.quantised, xp.int64)
    squares = sum_of(xp.take(values * values, at) if keys.shape[0] else xp.zeros_like(feature))
    kept = matched * CONTAINMENT[1] >= xp.take(names.wholes, name) * CONTAINMENT[0]
    return _Found(query[kept], name[kept], matched[kept], squares[kept])


def _spread(starts: Array, of: Array) -> tuple[Array, Array]:
    """Walk the runs of some items: the number of each entry's item, and where the entry is."""
    xp, dev = array_namespace(of), device(of)
    first = xp.take(starts, of)
    sizes = xp.take(starts, of + 1) - first
    before = xp.cumulative_sum(sizes, dtype=xp.int64, include_initial=True)
    item = xp.repeat(xp.arange(of.shape[0], dtype=xp.int64, device=dev), sizes)
    place = xp.arange(item.shape[0], dtype=xp.int64, device=dev)
    return item, place - xp.take(before, item) + xp.take(first, item)


def _best_of_labels(names: Names, found: _Found) -> _Found:
    """The best name of each label of a query; of a query the best labels first."""
    xp = array_namespace(found.query)
    if found.query.shape[0] == 0:
        return found
    quality = found.matched * found.matched // xp.take(names.wholes, found.name)
    label = xp.astype(xp.take(names.labels, found.name), xp.int64)

    order = _lexsorted(-quality, label, found.query)  # equal names stay in their order
    query, label = xp.take(found.query, order), xp.take(label, order)
    is_new = (query[1:] != query[:-1]) | (label[1:] != label[:-1])
    order = order[xp.concat([xp.ones_like(query[:1]) > 0, is_new])]
    best, quality = _Found(*(xp.take(part, order) for part in found)), xp.take(quality, order)
    order = _lexsorted(-quality, best.query)  # equal labels stay in their order
    return _Found(*(xp.take(part, order) for part in best))


def _lexsorted(*keys: Array) -> Array:
    """Order by the last key, then by the one before; what is equal keeps its order."""
    xp = array_namespace(*keys)
    order = xp.argsort(keys[0], stable=True)
    for key in keys[1:]:
        order = xp.take(order, xp.argsort(xp.take(key, order), stable=True))
    return order


def _bins(names: Names, name: Array, matched: Array, place: Array, squares: Array) -> list[Array]:
    """Evidence of labels by their names: a bin for each table."""
    xp, n_classes = array_namespace(name), len(COUNT_EDGES) + 1
    zero = xp.zeros_like(matched)

    def steps(value: Array, edges: Iterable[int], unit: int = 1) -> Array:
        return sum((xp.astype(value >= edge * unit, xp.int64) for edge in edges), zero)

    whole, label = xp.take(names.wholes, name), xp.take(names.labels, name)
    rows = steps(xp.take(names.counts, xp.astype(label, xp.int64)), COUNT_EDGES)
    contained = zero
    for above, below in CONTAINMENT_EDGES:
        contained = contained + xp.astype(matched * below >= whole * above, xp.int64)
    right = xp.take(names.right, name) * 2**RELIABILITY_BITS + 2 * names.prior
    sure = right // (xp.take(names.holders, name) + 2)
    return [
        1 + contained * n_classes + rows,
        1 + steps(matched, MATCHED_EDGES, 2**IDF_BITS) * n_classes + rows,
        1 + steps(sure, RELIABILITY) * n_classes + rows,
        xp.astype(xp.take(names.sizes, name), xp.int64),
        1 + steps(place, PLACES),
        1 + steps(squares, SHARES) * n_classes + rows,
    ]
