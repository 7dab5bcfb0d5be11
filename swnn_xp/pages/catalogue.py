"""Names and counts for the search box of a page, within a budget of bytes."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BUDGET = 2_000_000
"""Bytes of one catalogue: with two of them a page stays below 5 MB."""


class Catalogue(NamedTuple):
    """Searchable ids, names and counts, the most frequent first."""

    ids: list[int]
    names: list[str] | None
    counts: list[int]
    n_used: int
    """How many occur at all."""

    @property
    def is_complete(self) -> bool:
        """Whether everything that occurs is in it."""
        return len(self.ids) == self.n_used

    def to_json(self) -> str:
        """JSON that can stand inside a script element."""
        text = json.dumps(self._asdict(), ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c")


def catalogue(counts: NDArray[Any], names: list[str] | None, budget: int = BUDGET) -> Catalogue:
    """Take the most frequent (ties: the smaller id) until the budget is spent.

    Examples
    --------
    >>> catalogue(np.asarray([1, 0, 5]), ["a", "b", "c"]).names
    ['c', 'a']
    """
    n_used = int((counts > 0).sum())
    order = np.argsort(-counts, kind="stable")[:n_used]
    ids, kept = [], []
    for i in order.tolist():
        budget -= _size(i, int(counts[i]), names)
        if budget < 0:
            break
        ids.append(i)
        kept.append(int(counts[i]))
    return Catalogue(ids, None if names is None else [names[i] for i in ids], kept, n_used)


def _size(i: int, count: int, names: list[str] | None) -> int:
    numbers = len(str(i)) + len(str(count)) + 2
    if names is None:
        return numbers
    encoded = json.dumps(names[i], ensure_ascii=False).replace("<", "\\u003c")
    return numbers + len(encoded.encode()) + 1
