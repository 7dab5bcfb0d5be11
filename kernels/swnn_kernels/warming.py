"""Compile every kernel once, so that later processes find them in the cache on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from swnn_kernels._numba.caching import cache_folder
from swnn_kernels.answer.batch import rank, search
from swnn_kernels.answer.session import Session
from swnn_kernels.fixed_point import quantise
from swnn_kernels.index.hybrid import HybridIndex
from swnn_kernels.index.untrusted import UntrustedIndex
from swnn_kernels.learn import warming as learning
from swnn_kernels.records import Rows, Settings
from swnn_kernels.text.decimal import powers_of_five, scaled
from swnn_kernels.text.parse import ParseRules, parse_rows, room_for_rows
from swnn_kernels.vote.batch import vote_batch
from swnn_kernels.vote.labels import Labels


def warmup(progress: Callable[[str], None] | None = None) -> Path | None:
    """Compile all kernels; takes a minute or two the first time.

    Parameters
    ----------
    progress : callable, optional
        Called with a few words before each step.

    Returns
    -------
    Path or None
        Folder under which the compiled kernels are kept; None where none could be written, and
        every process compiles them again.

    Examples
    --------
    >>> folder = warmup()
    """
    step = progress or (lambda words: None)
    step("the parser")
    _parse()
    step("the index")
    index, rows = _build()
    step("votes")
    one = Labels.prepare(np.arange(2), np.arange(1))
    vote_batch(one, np.zeros((1, 1)), np.ones((1, 1)), 1.0, 1)
    for method in ("exhaustive", "pruned"):
        step(f"the {method} search")
        _search(index, rows, method)
    step("training")
    learning.train()
    step("ranking")
    learning.rank()
    return cache_folder()


def warm_searches() -> None:
    """Compile the searches alone, in batches and sessions, the usual one first."""
    index, rows = _small_index()
    for method in ("pruned", "exhaustive"):
        _search(index, rows, method)


def _search(index: HybridIndex, rows: Rows, method: str) -> None:
    n_rows, settings = rows.n_rows, Settings(1, 1.0, 1.0)
    labels = Labels.prepare(np.arange(n_rows + 1), np.arange(n_rows))
    search(index, rows, 1, 1.0, method=method)
    rank(index, labels, rows, settings, 1, method=method)
    session = Session(index, labels, settings, method=method)
    session.predict_one(np.arange(2), np.ones(2), 1)


def _parse() -> None:
    text = np.frombuffer(bytearray(b"0 0:1\n"), np.uint8)
    powers = powers_of_five()
    scaled(np.uint64(1), 0, powers)
    rules = ParseRules(False, 0, 1, 1, 1.0)
    parse_rows(text, (0, text.size), 1, rules, powers, room_for_rows(1, text.size))


def _small_index() -> tuple[HybridIndex, Rows]:
    # Large enough for bitmaps to pay: fewer rows would have no frequent features.
    indptr, indices = np.arange(0, 1001, 10), np.tile(np.arange(10), 100)
    rows = Rows(indptr, indices, quantise(indptr, indices, np.ones(1000)), 10)
    return HybridIndex.build(rows, frequent=0.0, fewest=1), rows


def _build() -> tuple[HybridIndex, Rows]:
    index, rows = _small_index()
    untrusted = UntrustedIndex.from_arrays(index.arrays())
    untrusted.check_lists(rows.prepared().indices)  # of a batch, and of a session
    untrusted.check_lists(np.arange(2))
    index.check()
    index.rows()
    index.shared(0, rows.indices[:2])
    return index, rows
