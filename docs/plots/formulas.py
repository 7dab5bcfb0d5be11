"""The pruned kernel's bounds in plain NumPy, straight from the formulas, independent of the kernel.

Levels are chosen among all values of a feature; the kernel distinguishes eight sizes per octave.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

FREQUENT = 0.01  # a feature in at least this fraction of the rows gets bitmaps
OUTSIDE = 0.005  # fraction of its values that may stay in its postings
ALIKE = 0.85  # mean level / large level above which one bitmap is enough
BITS, SIGNIFICANT, WORTH = 11, 2, 0.25  # of the weights, for small S and beta = 1


def unit(X: Any) -> Any:
    """Scale rows to length 1."""
    X = X.astype(np.float64)
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    X.data /= np.repeat(np.maximum(lengths, 1e-300), np.diff(X.indptr))
    return X


def levels(ratios: Any) -> tuple[float, float]:
    """Small and large level of a feature's ratios value / scale; its postings hold the rest."""
    ratios = np.sort(ratios)
    kept = ratios[: ratios.size - int(OUTSIDE * ratios.size)]
    saved = np.arange(1, kept.size + 1) * (kept[-1] - kept)
    best = int(saved.argmax())
    pays = saved[best] > (1 - ALIKE) * kept[-1] * kept.size
    return (kept[best] if pays else kept[-1]), kept[-1]


@dataclass(frozen=True)
class Bounds:
    """Upper bounds for all unit rows ``X`` and one unit query ``q``, with beta = 1."""

    X: Any
    q: Any

    @cached_property
    def sizes(self) -> Any:
        return np.diff(self.X.indptr)

    @cached_property
    def scales(self) -> Any:
        return 1 / np.sqrt(np.maximum(self.sizes, 1))

    @cached_property
    def row(self) -> Any:
        return np.repeat(np.arange(self.X.shape[0]), self.sizes)

    @cached_property
    def ratios(self) -> Any:
        return self.X.data / self.scales[self.row]

    @cached_property
    def is_frequent(self) -> Any:
        counts = np.bincount(self.X.indices, minlength=self.q.size)
        return counts >= FREQUENT * self.X.shape[0]

    @cached_property
    def often(self) -> Any:
        """The query's frequent features."""
        return np.flatnonzero(self.is_frequent & (self.q > 0))

    @cached_property
    def level_table(self) -> Any:
        """Small and large level of each of `often`."""
        return np.array([levels(self.ratios[self.X.indices == j]) for j in self.often])

    @cached_property
    def weights(self) -> tuple[Any, Any, float]:
        """Integer weights of small and large values for each of `often`, and the step size."""
        small, large = self.q[self.often] * self.level_table.T
        step = large.sum() / 2**BITS
        step = large.max() / _rounded_up(large.max() / step) * (1 + 4e-9)
        small = np.where(large - small <= WORTH * large.mean(), large, small)
        low = _rounded_up(small / step)
        return low, low + _rounded_up((large - small) / step), step

    @cached_property
    def parts(self) -> tuple[Any, Any]:
        """What each value adds to its row's sum over postings, and to its sum of weights."""
        low, high, _ = self.weights
        place = np.full(self.q.size, -1)
        place[self.often] = np.arange(self.often.size)
        place = place[self.X.indices]
        small, large = self.level_table[place].T
        forward = (place >= 0) & (self.ratios <= large)
        weight = np.where(self.ratios <= small, low[place], high[place])
        products = self.X.data * self.q[self.X.indices]
        return np.where(forward, 0, products), np.where(forward, weight, 0)

    def sums(self, values: Any) -> Any:
        return np.bincount(self.row, values, minlength=self.X.shape[0])

    @cached_property
    def overlaps(self) -> Any:
        return self.sums(self.q[self.X.indices] != 0)

    @cached_property
    def jaccard(self) -> Any:
        return self.overlaps / (np.count_nonzero(self.q) + self.sizes - self.overlaps)

    @cached_property
    def uppers(self) -> Any:
        listed, weight = (self.sums(part) for part in self.parts)
        return (listed + self.scales * weight * self.weights[2]) * self.jaccard

    @cached_property
    def sims(self) -> Any:
        return self.sums(self.X.data * self.q[self.X.indices]) * self.jaccard


def _rounded_up(values: Any) -> Any:
    """Round up to integers with few significant bits."""
    whole = np.ceil(np.asarray(values) * (1 + 1e-9)).astype(np.int64)
    shift = np.maximum(np.ceil(np.log2(whole + 1)).astype(np.int64) - SIGNIFICANT, 0)
    return ((whole + (1 << shift) - 1) >> shift) << shift
