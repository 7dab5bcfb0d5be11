"""Compile every kernel, with the types that it is called with, so that later processes load it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from swnn_kernels._numba.decorators import cache_folder
from swnn_kernels.answer.batch import rank, search
from swnn_kernels.answer.joined import JoinedSessions
from swnn_kernels.answer.session import Session
from swnn_kernels.fixed_point import quantise
from swnn_kernels.index.hybrid import HybridIndex, UntrustedIndex
from swnn_kernels.learn.candidates import (
    N_BINS,
    Selection,
    digest_rows,
    fill_bins,
    find_candidates,
    mark_right,
)
from swnn_kernels.learn.centroids import LabelSums, list_labels
from swnn_kernels.learn.descent import (
    Block,
    Buffers,
    DescentRows,
    Models,
    Pairs,
    Problem,
    add_moments,
    count_pairs,
    descend,
    look_up,
    measure_rows,
    place_pairs,
)
from swnn_kernels.learn.known_neighbours import mark_near, similarities
from swnn_kernels.learn.names import Names, count_holders, match_names
from swnn_kernels.learn.rank import rank_candidates
from swnn_kernels.learn.scorer import Ranker, Scorer
from swnn_kernels.learn.session import CandidateRanker
from swnn_kernels.parse import ParseRules, parse_rows, powers_of_five, room_for_rows, scaled
from swnn_kernels.records import Cap, QuantisedRows, Settings, frozen
from swnn_kernels.vote import Labels, vote_batch

_SELECTION = Selection((1,), 1, 1.0)


def _ints(*values: int) -> np.ndarray:
    return np.asarray(values, np.int64)


def _short(*values: int) -> np.ndarray:
    return np.asarray(values, np.int32)


def warm_training() -> None:
    """Compile what training calls."""
    labels = Labels.prepare(_ints(0, 1, 2), _short(0, 0))
    found = _ints(0, 1).reshape(2, 1), np.ones((2, 1))
    voted, shares, _ = find_candidates(labels, _SELECTION, found, (_ints(0, 1), _ints(0, 1)))
    bins, right = np.empty(shares.shape, np.uint16), np.empty(voted.shape, np.uint8)
    fill_bins(shares.reshape(-1), bins.reshape(-1))
    mark_right(voted, labels.indptr, labels.indices, 0, right)
    rows = tuple(map(frozen, (_ints(0, 1, 2), _short(0, 0), _short(1, 1))))
    digest_rows(*rows, labels.indptr, labels.indices, np.empty(2, np.uint64))
    scores = np.empty(2, np.int64)
    look_up(bins.reshape(-1, 1), np.zeros((1, N_BINS), np.int64), scores)
    marks, moments = np.full((2, 1), -1, np.int32), (np.zeros((2, 2)), np.zeros(2))
    add_moments(np.ones((2, 2)), marks, np.ones(2), np.zeros(2), *moments)
    known = QuantisedRows(rows[0], rows[1], rows[2], 1)
    similarities(known, _ints(0), found[0][:1], 1.0)
    mark_near(known, known, np.ones(2), 1.0)
    sums = LabelSums(_ints(0, 1), _short(0), _ints(1), 1, 0)
    one, nothing = QuantisedRows(_ints(0, 1), _short(0), _short(1), 1), _ints(-1).reshape(1, 1)
    list_labels(sums, one, (_ints(0, 0), _short()), _ints(1), (nothing, np.zeros((1, 1))), 1)
    names = Names.prepare((_ints(0, 1), _short(0)), _short(0), _short(1), 1, _ints(1))
    match_names(names, known)
    count_holders(names, known, labels[:2])
    _descend(Block(0, voted, right, labels.indptr, labels.indices))


def _descend(block: Block) -> None:
    ends, offsets = np.zeros(1, np.int64), np.zeros(block.labels.shape, np.float32)
    count_pairs(block, True, ends)
    pairs = Pairs(_ints(0, 2), np.empty(2, np.int32), np.empty(2, np.float32), np.empty(2, np.int8))
    place_pairs(block, offsets, True, 0.0, np.zeros(1, np.int64), pairs)
    floats = np.ones(2, np.float32), np.ones(2), np.ones(1, np.float32)
    parts = _ints(0, 1, 2), _short(0, 0), *floats, np.zeros(2, np.uint8)
    measure_rows(frozen(parts[0]), frozen(floats[0]), np.empty(2))
    problem = Problem(np.ones(1), 1.0, 1.0, 0.1, 1, 0, 0.0)
    counts = np.zeros(1, np.int64)
    buffers = Buffers(
        np.zeros(1), np.empty(2), np.empty(2, np.int64), np.empty(2, np.uint8), counts
    )
    room = np.empty(1, np.int32), np.empty(1, np.float32)
    models = Models(*room, counts.copy(), np.zeros(1), room[1])
    descend(DescentRows(*map(frozen, parts)), pairs, problem, buffers, models, 0, 1)


def _scorer() -> Scorer:
    tables, one = np.zeros(2 * N_BINS, np.int64), np.ones(1, np.uint8)
    ranker = Ranker(_ints(0, 1), _short(0), np.ones(1, np.int16), _ints(0), one, tables, 0)
    return Scorer.prepare(ranker, 1)


def warm_ranking() -> None:
    """Compile what ranking calls."""
    labels, scorer = Labels.prepare(_ints(0, 1, 2), _short(0, 0)), _scorer()
    queries = QuantisedRows(_ints(0, 1), _short(0), _short(1), 1)
    found = _ints(0, 1), np.ones(2)
    batch = found[0].reshape(1, 2), found[1].reshape(1, 2)
    rank_candidates(labels, scorer, _SELECTION, queries, batch, 1)
    CandidateRanker(labels, scorer, _SELECTION).rank_one(_ints(0), np.ones(1), found, 1)


def warmup(progress: Callable[[str], None] | None = None) -> Path | None:
    """Compile all kernels; takes about twenty seconds the first time.

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
    steps = {
        "the parser": _warm_parser,
        "the index": _warm_index,
        "votes": _warm_votes,
        "the searches": warm_searches,
        "training": warm_training,
        "ranking": warm_ranking,
    }
    for words, warm in steps.items():
        if progress is not None:
            progress(words)
        warm()
    return cache_folder()


def warm_rest() -> None:
    """Compile what is neither searching nor training nor ranking."""
    _warm_parser()
    _warm_index()
    _warm_votes()


def warm_searches() -> None:
    """Compile the searches alone, in batches and sessions, the usual one first."""
    index, rows = _small_index()
    for method in ("pruned", "exhaustive"):
        _search(index, rows, method)


def _search(index: HybridIndex, rows: QuantisedRows, method: str) -> None:
    n_rows, settings = rows.n_rows, Settings(1, 1.0, 1.0)
    labels = Labels.prepare(np.arange(n_rows + 1), np.arange(n_rows))
    search(index, rows, 1, 1.0, method=method)
    rank(index, labels, rows, settings, 1, method=method)
    cap = Cap(1, 1, np.ones(rows.n_features, np.int64))
    for limit in (None, cap) if method == "pruned" else (None,):
        session = Session(index, labels, settings, method=method, cap=limit)
        session.predict_one(np.arange(2), np.ones(2), 1)
        JoinedSessions((session, session), (0, n_rows)).kneighbors_one(np.arange(2), np.ones(2))
    if method == "pruned":
        session.shortlist_one(np.arange(2), np.ones(2))


def _warm_votes() -> None:
    one = Labels.prepare(np.arange(2), np.arange(1))
    vote_batch(one, np.zeros((1, 1)), np.ones((1, 1)), 1.0, 1)


def _warm_parser() -> None:
    text = np.frombuffer(bytearray(b"0 0:1\n"), np.uint8)
    powers = powers_of_five()
    scaled(np.uint64(1), 0, powers)
    rules = ParseRules(False, 0, 1, 1, 1.0)
    parse_rows(text, (0, text.size), 1, rules, powers, room_for_rows(1, text.size))


def _small_index() -> tuple[HybridIndex, QuantisedRows]:
    # Large enough for bitmaps to pay: fewer rows would have no frequent features.
    indptr, indices = np.arange(0, 1001, 10), np.tile(np.arange(10), 100)
    rows = QuantisedRows(indptr, indices, quantise(indptr, indices, np.ones(1000)), 10)
    return HybridIndex.build(rows, frequent=0.0, fewest=1), rows


def _warm_index() -> None:
    index, rows = _small_index()
    untrusted = UntrustedIndex.from_arrays(index.arrays())
    untrusted.check_lists(rows.prepared().indices)  # of a batch, and of a session
    untrusted.check_lists(np.arange(2))
    index.check()
    index.rows()
    index.shared_features(0, rows.indices[:2])
