"""Match rows with columns so that both get their numbers of entries.

Rows and columns lie on a circle of topics. A row asks for entries at topics around its own, a
column offers entries around its own topic, over a wider range the more it has. Both lists are
sorted by topic and matched in order: counts are exact, and neighbours on the circle are matched.
A 64-bit word holds an entry: its topic, or later its row, in the upper half, an id in the lower.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

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
