"""Buffers of one thread, allocated once."""

from __future__ import annotations

import numpy as np

from swnn_kernels.bitslice import PLANES, STEP_ROWS, STEP_WORDS
from swnn_kernels.bounds import CHUNK, LANES
from swnn_kernels.completion import BUCKETS, PENDING
from swnn_kernels.grouping import BLOCK, GROUP, GROUP_PLANES, KINDS, SIGNIFICANT, groups_of
from swnn_kernels.index import InvertedIndex
from swnn_kernels.records import Labels, Scratch, Work, frozen
from swnn_kernels.reference import PACK
from swnn_kernels.validate import check_indptr

NO_LABELS = Labels(frozen(np.zeros(1, np.int64)), frozen(np.zeros(0, np.int32)))
_KEYS = 2**16  # a place for any 16-bit key: a damaged forward row can't lead beyond
NONE_DEAD = frozen(np.zeros(0, np.bool_))


def check_labels(index: InvertedIndex, starts: np.ndarray, ids: np.ndarray) -> Labels:
    """Label rows as kernels take them; ValueError if they do not fit the index."""
    starts = np.ascontiguousarray(starts, dtype=np.int64)
    ids = np.ascontiguousarray(ids, dtype=np.int32)
    check_indptr(starts, ids.size, "labels")
    if starts.size != index.n_rows + 1:
        raise ValueError(f"labels of {starts.size - 1} rows for an index of {index.n_rows}")
    if ids.size and ids.min() < 0:
        raise ValueError("labels: ids must not be negative")
    return Labels(frozen(starts), frozen(ids))


def check_dead(index: InvertedIndex, dead: np.ndarray | None) -> np.ndarray:
    """Get the flags of rows never to return, or an empty array."""
    if dead is None or not np.any(dead):
        return NONE_DEAD
    dead = np.ascontiguousarray(dead, dtype=np.bool_)
    if dead.shape != (index.n_rows,):
        raise ValueError(f"dead must hold one flag for each of the {index.n_rows} rows")
    return frozen(dead)


def check_parameters(n_neighbors: int, alpha: float, beta: float, k: int) -> None:
    """Raise ValueError for parameters the method does not have."""
    if n_neighbors < 1 or k < 1:
        raise ValueError(f"n_neighbors and k must be at least 1, got {n_neighbors} and {k}")
    if not (0 <= alpha < np.inf and 0 <= beta < np.inf):
        raise ValueError(f"alpha and beta must be finite and >= 0, got {alpha} and {beta}")


def check_budget(budget: int | None) -> int:
    """Get a budget as kernels take it: -1 for none."""
    if budget is None:
        return -1
    if budget < 1:
        raise ValueError(f"budget must be at least 1, got {budget}")
    return int(budget)


def _power_of_two(least: int) -> int:
    return 1 << max(1, (least - 1).bit_length())


def make_work(index: InvertedIndex, n_neighbors: int, labels: Labels, k: int, longest: int) -> Work:
    """Buffers for queries of at most ``longest`` features, ``n_neighbors`` rows and k labels."""
    n_rows = index.n_rows
    found = min(n_neighbors, n_rows)
    most = int(np.diff(labels.starts).max(initial=0)) * found
    most = min(most, labels.ids.size, int(labels.ids.max(initial=-1)) + 1)
    wide = longest >= PACK and index.largest_row >= PACK
    slots = _power_of_two(2 * most)
    return Work(
        values=np.empty(longest),
        indices=np.empty(longest, dtype=np.int32),
        units=np.empty(longest, dtype=np.int32),
        acc=np.zeros(max(index.row_sizes.size, CHUNK), dtype=np.int64),
        overlaps=np.zeros(n_rows if wide else 0, dtype=np.int32),
        sims=np.empty(found),
        rows=np.empty(found, dtype=np.int64),
        keys=np.empty(slots, dtype=np.int64),
        sums=np.empty(slots, dtype=np.int64),
        best_sums=np.empty(min(k, most), dtype=np.int64),
        best_labels=np.empty(min(k, most), dtype=np.int64),
    )


def make_scratch(index: InvertedIndex, longest: int, budget: int) -> Scratch:
    """Buffers of the pruned kernel for queries of at most ``longest`` features."""
    scored = index.row_sizes.size if budget >= 0 else 0

    def integers(size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)

    groups = groups_of(longest)
    summands = groups * GROUP_PLANES * SIGNIFICANT
    room = summands // 6 + 64  # carries are an eighth of the lines added, carries included
    return Scratch(
        table=np.zeros(_KEYS // 2, dtype=np.int32),
        shares=np.zeros(_KEYS, dtype=np.uint16),
        positive=integers(1),
        weight_step=np.zeros(1),
        reach=np.zeros(2),
        member=np.zeros(_KEYS // 2, dtype=np.uint8),
        rare=integers(longest + 1),
        rare_ends=integers(longest + 1),
        rare_weights=integers(longest + 1),
        numbers=integers(longest),
        offsets=integers(longest),
        weights=integers(2 * longest),
        kind_ends=integers(2 * KINDS),
        bitmaps=integers(2 * longest + GROUP),
        group_ends=integers(groups),
        n_groups=integers(1),
        counts=np.zeros(BLOCK * groups * GROUP_PLANES * STEP_WORDS, dtype=np.uint64),
        count_offsets=integers(groups * GROUP_PLANES),
        count_starts=integers(PLANES + 2),
        weight_offsets=integers(summands),
        weight_starts=integers(PLANES + 2),
        planes=np.zeros(PLANES * STEP_WORDS, dtype=np.uint64),
        queue=np.zeros(4 * room * STEP_WORDS, dtype=np.uint64),
        slots=np.arange(room, dtype=np.int64) * STEP_WORDS,
        sums=np.zeros(4 * CHUNK, dtype=np.uint8),
        masks=np.zeros(STEP_ROWS // LANES, dtype=np.uint8),
        uppers=np.zeros(CHUNK, dtype=np.float32),
        scores=np.zeros(scored, dtype=np.float32),
        maxima=np.zeros(max(CHUNK, scored) // LANES, dtype=np.float32),
        histogram=np.zeros(BUCKETS, dtype=np.int32),
        order=np.zeros(PENDING, dtype=np.int32),
        rows=integers(PENDING),
        overlaps=integers(PENDING),
        accs=integers(PENDING),
        weights_of=integers(PENDING),
        bounds=np.zeros(PENDING, dtype=np.float32),
        touched=np.zeros(index.n_rows, dtype=np.uint32),
        tally=integers(4),
    )
