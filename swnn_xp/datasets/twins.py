"""Synthetic twins of the paper's data sets: the same sizes and distributions, made-up content.

How many entries each row and each column gets is a sequence of whole numbers built from its
five-number summary: straight lines to the median, a geometric line to the third quartile, then a
tail up to the maximum, bent until the mean is right.

Then rows are matched with columns so that both get their numbers of entries. Rows and columns lie
on a circle of topics. A row asks for entries at topics around its own, a column offers entries
around its own topic, over a wider range the more it has. Both lists are sorted by topic and matched
in order: counts are exact, and neighbours on the circle are matched. A 64-bit word holds an entry:
its topic, or later its row, in the upper half, an id in the lower.

Test rows are modelled on training rows, then rows and columns are renamed and get tf-idf values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from swnn_xp.datasets.reading import Dataset, Published, find_published
from swnn_xp.summary import FiveNumbers


class PaperSummaries(NamedTuple):
    """The four tables' rows for one training set, as the paper prints them (rounded)."""

    label_occurrences: FiveNumbers
    labels_per_row: FiveNumbers
    features_per_row: FiveNumbers
    feature_occurrences: FiveNumbers


PAPER_SUMMARIES = {
    "AmazonCat-13K": PaperSummaries(
        FiveNumbers(1, 7, 28, 111, 335_211, 449),
        FiveNumbers(1, 3, 4, 6, 57, 5),
        FiveNumbers(1, 22, 45, 91, 2_113, 71),
        FiveNumbers(1, 6, 13, 53, 499_293, 414),
    ),
    "Wiki10-31K": PaperSummaries(
        FiveNumbers(1, 2, 2, 4, 11_411, 9),
        FiveNumbers(1, 13, 19, 25, 30, 19),
        FiveNumbers(8, 282, 520, 925, 3_288, 673),
        FiveNumbers(1, 5, 11, 36, 7_103, 94),
    ),
    "Delicious-200K": PaperSummaries(
        FiveNumbers(1, 3, 6, 17, 64_548, 74),
        FiveNumbers(1, 9, 27, 77, 13_203, 76),
        FiveNumbers(1, 35, 115, 340, 82_820, 301),
        FiveNumbers(1, 4, 6, 14, 82_028, 76),
    ),
    "WikiLSHTC-325K": PaperSummaries(
        FiveNumbers(1, 2, 5, 13, 293_936, 18),
        FiveNumbers(1, 1, 2, 4, 198, 3),
        FiveNumbers(1, 16, 30, 54, 5_053, 42),
        FiveNumbers(1, 1, 1, 3, 274_175, 54),
    ),
    "Amazon-670K": PaperSummaries(
        FiveNumbers(1, 2, 3, 4, 1_826, 4),
        FiveNumbers(1, 5, 6, 7, 7, 5),
        FiveNumbers(1, 23, 48, 96, 2_025, 76),
        FiveNumbers(1, 6, 13, 54, 209_059, 273),
    ),
    "Amazon-3M": PaperSummaries(
        FiveNumbers(1, 3, 7, 19, 12_014, 22),
        FiveNumbers(1, 7, 20, 65, 100, 36),
        FiveNumbers(0, 20, 37, 65, 2_443, 49),
        FiveNumbers(1, 5, 8, 21, 330_125, 251),
    ),
}


SHAPES = {
    # Titles of a few words, some of which are everywhere: most postings are in a few lists.
    "short-rows": (
        Published("short-rows", 20_000, 2_000, 47_000, 5_000, None, 3.0),
        PaperSummaries(
            FiveNumbers(1, 8, 20, 60, 4_000, 70.5),
            FiveNumbers(1, 2, 3, 4, 10, 3),
            FiveNumbers(1, 6, 8, 10, 30, 8),
            FiveNumbers(1, 1, 2, 4, 12_000, 18.8),
        ),
    ),
    # Abstracts.
    "medium-rows": (
        Published("medium-rows", 80_000, 4_000, 57_717, 5_000, None, 4.0),
        PaperSummaries(
            FiveNumbers(1, 5, 14, 45, 6_000, 57.7),
            FiveNumbers(1, 2, 4, 5, 15, 4),
            FiveNumbers(3, 35, 55, 82, 400, 63),
            FiveNumbers(1, 2, 5, 20, 25_000, 45.5),
        ),
    ),
}
"""Sizes and summaries by name."""


def column_tail(rank: Any, last: int, low: float, high: float, bend: float) -> Any:
    """Zipf-Mandelbrot: high at rank 1, low at the last, flat among the first `bend` ranks.

    Word counts of real text bend like this. A tail like `row_tail` has the same summary, but too
    few very frequent words, and with them a query would touch too few postings.
    """
    shift = bend - 0.999
    slope = np.log(high / low) / np.log((last + shift) / (1 + shift))
    return high * ((1 + shift) / (rank + shift)) ** slope


def row_tail(rank: Any, last: int, low: float, high: float, bend: float) -> Any:
    """Zipf's straight line in logarithms, bent to a power: reaches means close to `high` too."""
    height = 1 - np.log(rank) / np.log(max(last, 2))
    return low * (high / low) ** (height ** (1 / bend))


def degree_sequence(
    summary: FiveNumbers,
    n: int,
    total: float,
    tail: Callable[[Any, int, float, float, float], Any],
) -> Any:
    """Whole numbers, ascending, with the given summary and about the given sum.

    Parameters
    ----------
    summary : FiveNumbers
        Its mean is not used.
    n : int
        How many numbers.
    total : float
        The sum to come near to; missed only where no tail has it.
    tail : function
        `column_tail` or `row_tail`; greater the greater its last argument.

    Returns
    -------
    ndarray
        int64, (n,).
    """
    low, q1, q2, q3, high, _ = summary
    u = np.linspace(0, 1, n)
    body = np.interp(u, [0, 0.25, 0.5], [low, q1, q2])
    upper = (u > 0.5) & (u <= 0.75)
    body[upper] = q2 * (q3 / q2) ** ((u[upper] - 0.5) / 0.25)
    values = np.rint(body).astype(np.int64)
    in_tail = u > 0.75
    last = int(in_tail.sum())
    below = int(values[~in_tail].sum())
    # the sum is estimated from a few thousand ranks, each standing for those around it
    some = np.unique(np.rint(np.geomspace(1, max(last, 1), 4000)))
    edges = np.concatenate([[0.5], (some[1:] + some[:-1]) / 2, [last + 0.5]])
    least, most = -7.0, np.log(10.0 * n)
    for _ in range(60):
        middle = (least + most) / 2
        estimate = (tail(some, last, q3, high, np.exp(middle)) * np.diff(edges)).sum()
        least, most = (least, middle) if below + estimate > total else (middle, most)
    rank = np.arange(last, 0, -1)
    values[in_tail] = np.rint(tail(rank, last, q3, high, np.exp(middle)))
    return values


def thin(counts: Any, scale: float, rng: np.random.Generator) -> Any:
    """Occurrences of columns in a sample of the rows; columns that no longer occur are dropped."""
    if scale == 1:
        return counts
    scaled = rng.binomial(counts, scale) if scale < 1 else np.rint(counts * scale).astype(np.int64)
    return np.sort(scaled[scaled > 0])


def sample(lengths: Any, n: int) -> Any:
    """`n` evenly spaced members of an ascending sequence."""
    return lengths[((np.arange(n) + 0.5) * (len(lengths) / n)).astype(np.int64)]


def with_total(counts: Any, total: int, limit: int) -> Any:
    """Change ascending counts, large ones more, to sum up to `total`, each within 1 to `limit`.

    If there are more counts than `total`, only the largest are kept.
    """
    counts = np.clip(counts[max(0, len(counts) - total) :], 1, limit)
    for _ in range(100):
        missing = total - int(counts.sum())
        if missing == 0:
            break
        room = counts * ((counts < limit) if missing > 0 else (counts > 1))
        share = np.cumsum(room * (missing / room.sum()))
        step = np.diff(np.rint(share), prepend=0).astype(np.int64)
        counts = np.clip(counts + step, 1, limit)
    return counts


GOLDEN = 0.6180339887498949
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_CHUNK = 1 << 22
_ROUNDS = 40
_NEAR = 300  # rows; nearer ones often have the column already


class RowTopics(NamedTuple):
    """Where rows ask; all rows of a family ask at the same topics."""

    topic: Any
    second: Any
    reach: Any
    phase: Any


class ColumnTopics(NamedTuple):
    """Where columns offer: evenly within `width` around `topic`, `burst` entries at a time."""

    topic: Any
    width: Any
    burst: int


def match(
    lengths: Any, rows: RowTopics, counts: Any, columns: ColumnTopics, rng: np.random.Generator
) -> Any:
    """Pair rows with columns.

    Parameters
    ----------
    lengths, counts : ndarray
        Entries of each row and of each column; equal sums.
    rows, columns : RowTopics, ColumnTopics
        Where they ask and offer.
    rng : numpy.random.Generator
        Used for repairs only.

    Returns
    -------
    ndarray
        uint64, sorted: row in the upper half, column in the lower; each pair once. A few entries
        fewer than asked for if repairs did not succeed.
    """
    asked = np.empty(int(lengths.sum()), dtype=np.uint64)
    for part, ids, within in _entries(lengths):
        home = np.where(within % 5 == 4, rows.second[ids], rows.topic[ids])
        offset = (within * GOLDEN + rows.phase[ids]) % 1 - 0.5
        asked[part] = _word(home + rows.reach[ids] * offset, ids)
    asked.sort()
    offered = np.empty(int(counts.sum()), dtype=np.uint64)
    for part, ids, within in _entries(counts):
        n_bursts = -(-counts[ids] // columns.burst)
        offset = (within // columns.burst + 0.5) / n_bursts - 0.5
        offered[part] = _word(columns.topic[ids] + columns.width[ids] * offset, ids)
    offered.sort()
    for start in range(0, len(asked), _CHUNK):
        part = slice(start, start + _CHUNK)
        asked[part] = (asked[part] << _HALF) | (offered[part] & _LOW)
    del offered
    asked.sort()
    return _separate(asked, lengths, rng)


def _entries(counts: Any) -> Iterator[tuple[slice, Any, Any]]:
    """Entries in chunks: their slice of all entries, their owners, and their ranks per owner."""
    if counts.sum() == 0:
        return
    ends = np.cumsum(counts)
    cut = np.searchsorted(ends, np.arange(_CHUNK, ends[-1] + _CHUNK, _CHUNK))
    bounds = np.unique(np.concatenate([[0], cut, [len(counts)]]))
    for first, last in pairwise(bounds):
        own = counts[first:last]
        start = int(ends[first] - counts[first])
        ids = np.repeat(np.arange(first, last), own)
        within = np.arange(start, int(ends[last - 1])) - np.repeat(ends[first:last] - own, own)
        yield slice(start, int(ends[last - 1])), ids, within


def _word(topic: Any, ids: Any) -> Any:
    turned = ((topic % 1) * 2.0**32).astype(np.uint64)
    return (np.minimum(turned, _LOW) << _HALF) | ids.astype(np.uint64)


def _separate(pairs: Any, lengths: Any, rng: np.random.Generator) -> Any:
    """Resolve pairs that occur twice by swapping columns with other entries; drop what is left."""
    starts = np.cumsum(lengths) - lengths
    near = _NEAR * len(pairs) / len(lengths)
    twice = np.flatnonzero(pairs[1:] == pairs[:-1]) + 1
    for turn in range(_ROUNDS):
        if len(twice) == 0:
            break
        far = np.maximum(near, 2 * lengths[_row(pairs[twice])]) * 1.5**turn
        far = np.minimum(far, len(pairs) / 2) * rng.uniform(-1, 1, (2, len(twice)))
        others = (twice + np.rint(far).astype(np.int64)) % len(pairs)
        # of two, the rarer column (columns ascend by count): a long row has the common ones
        rarer = (pairs[others[0]] & _LOW) < (pairs[others[1]] & _LOW)
        one, other = _distinct(twice, np.where(rarer, others[0], others[1]))
        swap = (pairs[one] ^ pairs[other]) & _LOW
        pairs[one] ^= swap
        pairs[other] ^= swap
        touched = np.zeros(len(lengths), dtype=bool)
        touched[_row(pairs[twice])] = True
        touched[_row(pairs[other])] = True
        own = lengths[touched]
        where = np.arange(own.sum()) + np.repeat(starts[touched] - (np.cumsum(own) - own), own)
        part = pairs[where]
        part.sort()
        pairs[where] = part
        twice = where[1:][part[1:] == part[:-1]]
    return np.delete(pairs, twice) if len(twice) else pairs


def _distinct(one: Any, other: Any) -> tuple[Any, Any]:
    """The pairs of positions whose second member is in no other pair."""
    words = (other.astype(np.uint64) << _HALF) | np.arange(len(one), dtype=np.uint64)
    words.sort()
    other, couple = _row(words), (words & _LOW).astype(np.int64)
    good = np.diff(other, prepend=-1) > 0
    at = np.minimum(np.searchsorted(one, other), len(one) - 1)
    good &= one[at] != other
    return one[couple[good]], other[good]


def _row(pairs: Any) -> Any:
    return (pairs >> _HALF).astype(np.int64)


_FAMILIES = np.array([1, 1, 2, 1, 1, 3, 1, 2, 1, 1, 1, 6])  # sizes of groups of near-duplicates
_BURST = 4  # entries that a column offers at one topic: enough for most families
_SPAN = (
    10  # rows around a row of mean length that it asks within; well above _BURST, see row_topics
)
_PLASTIC = (0.7548776662466927, 0.5698402909980532)  # for pairs of evenly spread sequences


class Layout(NamedTuple):
    """Rows in their order on the circle."""

    family: Any
    n_features: Any
    n_labels: Any


def lay_out(n_features: Any, n_labels: Any, shift: float) -> Layout:
    """Put rows of given (ascending) sizes onto the circle.

    Near-duplicates lie together and have about the same size. Multiples of irrational numbers
    spread families so that each stretch of the circle has rows of all sizes in equal shares.
    """
    n = len(n_features)
    family = np.repeat(np.arange(n), np.resize(_FAMILIES, n))[:n]
    order = np.argsort((family * GOLDEN + shift) % 1, kind="stable")
    labels = np.empty(n, dtype=np.int64)
    labels[np.argsort((family * np.sqrt(3)) % 1, kind="stable")] = n_labels
    return Layout(family[order], n_features[order], labels[order])


def row_topics(family: Any, lengths: Any) -> RowTopics:
    """Topics around which rows ask, over a wider range the longer they are.

    Then a row's entries lie about _SPAN entries of others apart, so that it seldom meets one burst
    of a column twice; and bursts of a column are at least as far apart.
    """
    n = len(lengths)
    first = np.flatnonzero(np.diff(family, prepend=-1))
    size = np.diff(first, append=n)
    own = family[first]
    topic = (first + size / 2) / n
    second = (topic + own * np.sqrt(2)) % 1
    relative = np.maximum(1, lengths[first] / max(lengths.mean(), 1))
    reach = np.minimum(0.5, _SPAN / n * relative)
    phase = (own * _PLASTIC[1]) % 1
    return RowTopics(*(np.repeat(of_family, size) for of_family in (topic, second, reach, phase)))


def column_topics(counts: Any, n_rows: int, stray: int, shift: float) -> ColumnTopics:
    """Topics of columns; each `stray`-th one and the very common ones occur everywhere."""
    k = np.arange(len(counts))
    density = 0.15 + 0.3 * ((k * _PLASTIC[0]) % 1)  # share of the rows around that have the column
    width = np.where(k % stray == stray - 1, 1, np.minimum(1, counts / (density * n_rows)))
    return ColumnTopics((k * GOLDEN + shift) % 1, width, _BURST)


class TestRows(NamedTuple):
    """Which training row each test row is modelled on, and how closely (0 to 1)."""

    model: Any
    closeness: Any


def draw_test_rows(n_train: int, n_test: int, rng: np.random.Generator) -> TestRows:
    """Choose models for test rows; a quarter of the test rows are near-duplicates of them."""
    model = rng.integers(0, n_train, n_test)
    return TestRows(model, rng.choice([0.4, 0.4, 0.4, 0.9], n_test))


def resample(pairs: Any, n_train: int, test: TestRows, rng: np.random.Generator) -> Any:
    """Draw test rows: each entry is its model's, or else any entry of a training row nearby.

    Parameters
    ----------
    pairs : ndarray
        Sorted training pairs, row and column in one word, rows in their order on the circle.
    n_train : int
        Number of training rows.
    test : TestRows
        Models of the test rows.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    ndarray
        Sorted pairs of test row and column, each once.
    """
    bounds = np.searchsorted(pairs, np.arange(n_train + 1, dtype=np.uint64) << _HALF)
    starts, lengths = bounds[:-1], np.diff(bounds)
    drawn = []
    step = max(1, int(_CHUNK * n_train / max(len(pairs), 1)))
    for begin in range(0, len(test.model), step):
        model = test.model[begin : begin + step]
        own = lengths[model]
        row = np.repeat(np.arange(begin, begin + len(model)), own)
        within = np.arange(own.sum()) - np.repeat(np.cumsum(own) - own, own)
        exact = rng.random(len(row)) < test.closeness[row]
        away = np.rint(rng.normal(0, 3, len(row))).astype(np.int64)
        source = (test.model[row] + np.where(exact, 0, away)) % n_train
        chance = (rng.random(len(row)) * lengths[source]).astype(np.int64)
        entry = starts[source] + np.where(exact, within, chance)
        has = lengths[source] > 0
        found = (row[has].astype(np.uint64) << _HALF) | (pairs[entry[has]] & _LOW)
        found.sort()
        drawn.append(found[np.diff(found, prepend=_LOW << _HALF) != 0])
    return np.concatenate(drawn)


def binary_rows(pairs: Any, row_ids: Any, column_ids: Any) -> Any:
    """Make a 0/1 matrix of pairs, with rows and columns renamed; changes `pairs`."""
    for start in range(0, len(pairs), _CHUNK):
        part = pairs[start : start + _CHUNK]
        row, column = row_ids[part >> _HALF], column_ids[part & _LOW]
        pairs[start : start + _CHUNK] = (row.astype(np.uint64) << _HALF) | column.astype(np.uint64)
    pairs.sort()
    shape = (len(row_ids), len(column_ids))
    indptr = np.searchsorted(pairs, np.arange(shape[0] + 1, dtype=np.uint64) << _HALF)
    indices = np.empty(len(pairs), dtype=np.int32)
    np.bitwise_and(pairs, _LOW, out=indices, casting="unsafe")
    return csr_array((np.ones(len(pairs), dtype=np.int8), indices, indptr.astype(np.int32)), shape)


def weigh(rows: Any, family: Any, idf: Any) -> Any:
    """Give a 0/1 matrix tf-idf values; near-duplicates have the same made-up counts."""
    data = np.empty(rows.nnz, dtype=np.float32)
    lengths = np.diff(rows.indptr)
    step = max(1, int(_CHUNK * rows.shape[0] / max(rows.nnz, 1)))
    for begin in range(0, rows.shape[0], step):
        part = slice(rows.indptr[begin], rows.indptr[min(begin + step, rows.shape[0])])
        of_row = np.repeat(family[begin : begin + step], lengths[begin : begin + step])
        column = rows.indices[part]
        data[part] = (1 + np.log(_made_up_count(of_row, column))) * idf[column]
    return csr_array((data, rows.indices, rows.indptr), rows.shape)


def _made_up_count(family: Any, column: Any) -> Any:
    """How often a word is in a text: 1 in two cases of three, seldom more than 5."""
    mixed = family.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= column.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    uniform = ((mixed >> np.uint64(40)).astype(np.float64) + 0.5) / 2.0**24
    return 1 + np.floor(-np.log(uniform))


def make_twin(name: str, scale: float = 1.0, seed: int = 0) -> Dataset:
    """Make a synthetic data set like one of the paper's six, or of another shape.

    At scale 1 the training rows have the paper's five-number summaries and means: occurrences of
    labels and features, labels and features per row. Rows have topics: rows of like topics share
    features and labels, some more so (families of two to six rows), and common words occur
    everywhere. A quarter of the test rows are near-duplicates of a training row. Values are like
    tf-idf. Labels can be learnt from neighbours, but how well says nothing of the real data.

    Parameters
    ----------
    name : str
        One of the paper's six sets, see `describe`; or "short-rows" (47,000 rows of 8 features, a
        few of which occur in a quarter of the rows) or "medium-rows" (57,717 rows of 63 features).
    scale : float, default 1
        Number of rows relative to the original. Below 1 the twin is like a random sample of the
        rows: features and labels per row stay as they are, occurrences are thinned binomially, and
        columns that no longer occur are dropped. Above 1, occurrences grow with the rows and the
        columns stay.
    seed : int, default 0
        The same seed gives the same data.

    Returns
    -------
    Dataset
        Without names of rows, features and labels.

    Examples
    --------
    >>> from swnn_xp import datasets
    >>> twin = datasets.make_twin("Wiki10-31K", scale=0.01)
    >>> twin.X_train.shape[0], twin.X_test.shape[0]
    (141, 66)
    """
    published, summaries = _described(name)
    if not 0 < scale < float("inf"):
        raise ValueError(f"scale must be a positive number, not {scale}")
    rng = np.random.default_rng(seed)
    full = _full_size(published, summaries)
    n_train, n_test = (max(1, round(n * scale)) for n in (published.n_train, published.n_test))
    words, tags = (thin(counts, n_train / published.n_train, rng) for counts in full[2:])
    layout = lay_out(
        sample(np.minimum(full[0], max(1, len(words) // 2)), n_train),
        sample(np.minimum(full[1], max(1, len(tags) // 2)), n_train),
        rng.random(),
    )
    test = draw_test_rows(n_train, n_test, rng)
    ids = rng.permutation(n_train), rng.permutation(n_test)
    width = 0 if scale < 1 else published.n_features or 0
    family = layout.family
    X = _split(layout.n_features, family, words, width, 8, test, ids, rng)
    width = 0 if scale < 1 else published.n_labels
    y = _split(layout.n_labels, family, tags, width, 20, test, ids, rng)
    families = np.empty_like(family), np.empty(n_test, dtype=family.dtype)
    families[0][ids[0]] = family
    families[1][ids[1]] = family[test.model]
    idf = np.log((1 + n_train) / (1 + np.bincount(X[0].indices, minlength=X[0].shape[1]))) + 1
    return Dataset(
        name=f"twin of {published.name}",
        X_train=weigh(X[0], families[0], idf),
        y_train=y[0],
        X_test=weigh(X[1], families[1], idf),
        y_test=y[1],
        feature_names=[],
        label_names=[],
        row_names_train=[],
        row_names_test=[],
    )


def _described(name: str) -> tuple[Published, PaperSummaries]:
    """Sizes and distributions that go by a name."""
    if name in SHAPES:
        return SHAPES[name]
    published = find_published(name)
    if published is None or published.name not in PAPER_SUMMARIES:
        raise ValueError(f"no twin of {name!r}: there are {', '.join([*PAPER_SUMMARIES, *SHAPES])}")
    return published, PAPER_SUMMARIES[published.name]


def _full_size(published: Published, paper: PaperSummaries) -> tuple[Any, Any, Any, Any]:
    """Features and labels per row, and their occurrences, each ascending, at scale 1."""
    n = published.n_train
    n_features = degree_sequence(
        paper.features_per_row, n, n * paper.features_per_row.mean, row_tail
    )
    n_labels = degree_sequence(paper.labels_per_row, n, n * published.labels_per_point, row_tail)
    entries, pairs = int(n_features.sum()), int(n_labels.sum())
    # Some features occur in test rows only: the paper's mean is over those of the training rows.
    occurring = round(entries / paper.feature_occurrences.mean)
    d = min(published.n_features or occurring, occurring)
    return (
        n_features,
        n_labels,
        degree_sequence(paper.feature_occurrences, d, entries, column_tail),
        degree_sequence(paper.label_occurrences, published.n_labels, pairs, column_tail),
    )


def _split(
    lengths: Any,
    family: Any,
    counts: Any,
    n_columns: int,
    stray: int,
    test: TestRows,
    row_ids: tuple[Any, Any],
    rng: np.random.Generator,
) -> tuple[Any, Any]:
    """Train and test rows of 0/1, for features or for labels.

    Each `stray`-th column belongs to no topic.
    """
    n_rows = len(lengths)
    counts = with_total(counts, int(lengths.sum()), n_rows)
    columns = column_topics(counts, n_rows, stray, rng.random())
    train = match(lengths, row_topics(family, lengths), counts, columns, rng)
    drawn = resample(train, n_rows, test, rng)
    column_ids = rng.permutation(max(n_columns, len(counts)))
    return binary_rows(train, row_ids[0], column_ids), binary_rows(drawn, row_ids[1], column_ids)
