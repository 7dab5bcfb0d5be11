"""Compile the kernels of training and ranking, with the types that they are called with."""

from __future__ import annotations

import numpy as np

from swnn_kernels.dtypes import frozen
from swnn_kernels.learn.bins import N_BINS, fill_bins
from swnn_kernels.learn.candidates import Selection, digest_rows, find_candidates, mark_right
from swnn_kernels.learn.descent import Buffers, Models, Pairs, Problem, Rows, descend, measure_rows
from swnn_kernels.learn.known_neighbours import mark_near, similarities
from swnn_kernels.learn.pairs import Block, count_pairs, place_pairs
from swnn_kernels.learn.rank import rank_candidates
from swnn_kernels.learn.scorer import Ranker, Scorer
from swnn_kernels.learn.session import CandidateRanker
from swnn_kernels.learn.vote_score import add_moments, look_up
from swnn_kernels.records import Rows as QueryRows
from swnn_kernels.vote.labels import Labels

_SELECTION = Selection((1,), 1, 1.0)


def _ints(*values: int) -> np.ndarray:
    return np.asarray(values, np.int64)


def _short(*values: int) -> np.ndarray:
    return np.asarray(values, np.int32)


def train() -> None:
    """Compile what training calls."""
    labels = Labels.prepare(_ints(0, 1, 2), _short(0, 0))
    found = _ints(0, 1).reshape(2, 1), np.ones((2, 1))
    names, shares = find_candidates(labels, _SELECTION, found, (_ints(0, 1), _ints(0, 1)))
    bins, right = np.empty(shares.shape, np.uint16), np.empty(names.shape, np.uint8)
    fill_bins(shares.reshape(-1), bins.reshape(-1))
    mark_right(names, labels.indptr, labels.indices, 0, right)
    rows = tuple(map(frozen, (_ints(0, 1, 2), _short(0, 0), _short(1, 1))))
    digest_rows(*rows, labels.indptr, labels.indices, np.empty(2, np.uint64))
    scores = np.empty(2, np.int64)
    look_up(bins.reshape(-1, 1), np.zeros((1, N_BINS), np.int64), scores)
    add_moments(np.ones((2, 2)), np.ones(2), np.zeros(2), np.zeros((2, 2)), np.zeros(2))
    known = QueryRows(rows[0], rows[1], rows[2], 1)
    similarities(known, _ints(0), found[0][:1], 1.0)
    mark_near(known, known, np.ones(2), 1.0)
    _descend(Block(0, names, right, labels.indptr, labels.indices))


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
    descend(Rows(*map(frozen, parts)), pairs, problem, buffers, models, 0, 1)


def _scorer() -> Scorer:
    tables, one = np.zeros(2 * N_BINS, np.int64), np.ones(1, np.uint8)
    ranker = Ranker(_ints(0, 1), _short(0), np.ones(1, np.int16), _ints(0), one, tables, 0)
    return Scorer.prepare(ranker, 1)


def rank() -> None:
    """Compile what ranking calls."""
    labels, scorer = Labels.prepare(_ints(0, 1, 2), _short(0, 0)), _scorer()
    queries = QueryRows(_ints(0, 1), _short(0), _short(1), 1)
    found = _ints(0, 1), np.ones(2)
    batch = found[0].reshape(1, 2), found[1].reshape(1, 2)
    rank_candidates(labels, scorer, _SELECTION, queries, batch, 1)
    CandidateRanker(labels, scorer, _SELECTION).rank_one(_ints(0), np.ones(1), found, 1)
