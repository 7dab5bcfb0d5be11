"""The label models: for each label a linear model of what the vote score leaves open.

(row, candidate) pairs are sorted by label (`group_pairs`), and every label is trained on its own
pairs alone (`train_labels`), on threads or, inside `remote_training`, on other machines: the result
is the same. `quantise_models` makes of it what is stored and scored, 16-bit weights with one scale.

A model is too sure of the rows that it was trained on. So once a label is trained, the descent
takes a tenth of the rows out of its solution, corrects the solution for that, and scores these
rows: `held_out_scores` are what probabilities are fitted on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from swnn_kernels.learn import descent as kernels
from swnn_kernels.learn.descent import (
    MISSED,
    Block,
    DescentRows,
    Pairs,
    Problem,
    count_pairs,
    place_pairs,
)
from swnn_kernels.learn.rank import SCORE_BITS
from swnn_kernels.learn.scorer import Ranker
from swnn_kernels.parallel import in_order
from swnn_kernels.records import frozen
from swnn_xp.backends.index import Search
from swnn_xp.learn.candidates import Candidates
from swnn_xp.model.calibration import HeldOutScores
from swnn_xp.rows.canonical import QUANTISED_BITS, QUANTISED_SCALE
from swnn_xp.rows.records import LabelRows, QuantisedRows, pointers_of_sizes


class LabelTask(NamedTuple):
    """A run of labels to train, with all that it takes except the rows."""

    first: int
    """The first label."""
    n_labels: int
    """Number of all labels."""
    n_features: int
    pairs: Pairs
    """Of these labels only."""
    problem: Problem
    """With the costs of these labels only."""


class ChunkWeights(NamedTuple):
    """Weights of a run of labels, one label after the other, and scores of rows left out."""

    features: NDArray[np.int32]
    weights: NDArray[np.float32]
    scores: NDArray[np.float32]  # of the candidates of rows left out


def join_chunks(runs: list[ChunkWeights]) -> ChunkWeights:
    """Put the weights of successive runs one after the other."""
    return ChunkWeights(*(np.concatenate(part) for part in zip(*runs, strict=True)))


class TrainedTask(NamedTuple):
    """Models of a run of labels."""

    weights: ChunkWeights
    squares: NDArray[np.int64]  # (n_features,)
    sizes: NDArray[np.int64]  # (labels of the run,)
    biases: NDArray[np.float64]  # (labels of the run,)


@dataclass(frozen=True)
class RemoteTrainer:
    """What searches and trains in place of this process."""

    index: Callable[[QuantisedRows], Search]
    """Indexes rows and returns their search."""
    train: Callable[[DescentRows, Iterable[LabelTask]], Iterator[TrainedTask]]
    """Trains runs of labels, in their order."""


_remote_trainer: ContextVar[RemoteTrainer | None] = ContextVar("remote_trainer", default=None)


def remote_trainer() -> RemoteTrainer | None:
    """The remote trainer in this thread; None outside of `remote_training`."""
    return _remote_trainer.get()


@contextlib.contextmanager
def remote_training(trainer: RemoteTrainer) -> Iterator[None]:
    """Search and train remotely for the duration of a ``with`` block, in this thread."""
    token = _remote_trainer.set(trainer)
    try:
        yield
    finally:
        _remote_trainer.reset(token)


_ROOM = 1 << 20  # weights that a thread collects before they are copied
_CHUNK = 250_000  # pairs that a thread takes at a time
Done = Callable[[int, int], None]

_NONE = ChunkWeights(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.float32))


class _Chunk(NamedTuple):
    """What the descent finds for a run of labels, beside sizes and biases."""

    weights: ChunkWeights
    squares: NDArray[np.int64]


class LabelModels(NamedTuple):
    """Float models, labels one after the other; features ascend in a label."""

    indptr: NDArray[np.int64]  # (n_labels + 1,)
    features: NDArray[np.int32]
    weights: NDArray[np.float32]
    biases: NDArray[np.float64]  # (n_labels,)
    modelled: NDArray[np.uint8]  # (n_labels,)
    squares: NDArray[np.int64]  # (n_features,): of all weights, also of those dropped
    scores: NDArray[np.float32] = np.empty(0, np.float32)  # of rows left out; see `train_labels`


def prepare_rows(
    rows: QuantisedRows,
    scales: NDArray[np.float64] | None = None,
    left_out: NDArray[np.int64] | None = None,
) -> kernels.DescentRows:
    """Rows as the descent takes them.

    Parameters
    ----------
    rows : QuantisedRows
    scales : array of float64, (n_features,), optional
        Factors of the features. All are multiplied by one number, so that rows have a mean squared
        length of 1.
    left_out : array of int64, optional
        Rows whose candidates are scored by models without them.

    Examples
    --------
    >>> rows = QuantisedRows(np.asarray([0, 1]), np.asarray([0], np.int32), np.asarray([2**23]), 1)
    >>> prepare_rows(rows).norms.tolist()
    [1.0]
    >>> prepare_rows(rows, np.asarray([4.0])).scales.tolist()
    [1.0]
    """
    values = (rows.quantised / QUANTISED_SCALE).astype(np.float32)  # 24 bits hold it exactly
    indptr, norms = frozen(rows.indptr), np.empty(rows.n_rows)
    factors = np.ones(rows.n_features, np.float32)
    if scales is not None:
        factors[:] = scales
        kernels.measure_rows(indptr, frozen(values * factors[rows.indices]), norms)
        factors[:] = scales / np.sqrt(norms[norms > 0].mean() if norms.any() else 1.0)
        values *= factors[rows.indices]
    values = frozen(values)
    kernels.measure_rows(indptr, values, norms)
    marks = np.zeros(0 if left_out is None else rows.n_rows, np.uint8)
    if left_out is not None:
        marks[left_out] = 1
    parts = rows.indices, values, norms, factors, marks
    return kernels.DescentRows(indptr, *map(frozen, parts))


def group_pairs(
    blocks: list[Candidates],
    truth: LabelRows,
    offsets: Callable[[NDArray[np.uint16]], NDArray[np.float32]],
    missed_offset: float | None,
) -> kernels.Pairs:
    """Sort (row, candidate) pairs by label.

    Parameters
    ----------
    blocks : list of Candidates
        Candidates of successive runs of rows.
    truth : LabelRows
    offsets : callable
        Gives the offset of each candidate of a block from its bins.
    missed_offset : float or None
        Offset of the positives that are no candidates; None leaves them out.
    """
    missed = missed_offset is not None
    firsts = np.cumsum([0] + [block.labels.shape[0] for block in blocks])
    ready = [
        Block(int(first), block.labels, block.right, *map(frozen, truth[:2]))
        for first, block in zip(firsts, blocks, strict=False)
    ]
    counts = np.zeros(truth.n_labels, np.int64)
    for one in ready:
        count_pairs(one, missed, counts)
    indptr = pointers_of_sizes(counts)
    pairs = kernels.Pairs(
        indptr,
        np.empty(indptr[-1], np.int32),
        np.empty(indptr[-1], np.float32),
        np.empty(indptr[-1], np.int8),
    )
    ends = indptr[:-1].copy()
    for one, block in zip(ready, blocks, strict=True):
        offset = float(missed_offset or 0.0)
        place_pairs(one, offsets(block.bins), missed, offset, ends, pairs)
    return pairs


def pairs_of_rows(pairs: kernels.Pairs, chosen: NDArray[np.bool_]) -> kernels.Pairs:
    """Pairs of the rows that are marked, in the same order.

    Examples
    --------
    >>> pairs = kernels.Pairs(np.asarray([0, 2, 3]), np.asarray([0, 1, 1], np.int32),
    ...                       np.zeros(3, np.float32), np.asarray([1, -1, 1], np.int8))
    >>> some = pairs_of_rows(pairs, np.asarray([False, True]))
    >>> some.indptr.tolist(), some.signs.tolist()
    ([0, 1, 2], [-1, 1])
    """
    kept = chosen[pairs.rows]
    before = pointers_of_sizes(kept.astype(np.int64))
    return kernels.Pairs(before[pairs.indptr], *(part[kept] for part in pairs[1:]))


def train_labels(
    rows: QuantisedRows,
    pairs: kernels.Pairs,
    problem: kernels.Problem,
    n_jobs: int = 1,
    done: Done | None = None,
    scales: NDArray[np.float64] | None = None,
    left_out: NDArray[np.int64] | None = None,
) -> LabelModels:
    """Train all labels, on several threads or remotely; the result does not depend on it.

    Parameters
    ----------
    rows : QuantisedRows
        Training rows, not scaled by feature weights.
    pairs : Pairs
    problem : Problem
    n_jobs : int
        Number of threads.
    done : callable, optional
        Called with (pairs trained, pairs in all). If it raises, training ends.
    scales : array of float64, (n_features,), optional
        Factors of the features while the models are trained; see `prepare_rows`. The weights
        returned are those of features that are not scaled.
    left_out : array of int64, optional
        Rows whose candidates are to be scored by models without them, too.

    Examples
    --------
    >>> rows = QuantisedRows(np.arange(3), np.asarray([0, 1], np.int32), np.asarray([2**23] * 2), 2)
    >>> pairs = kernels.Pairs(np.asarray([0, 2]), np.asarray([0, 1], np.int32),
    ...                       np.zeros(2, np.float32), np.asarray([1, -1], np.int8))
    >>> problem = kernels.Problem(np.asarray([1.0]), 1.0, 1.0, 1e-9, 1000, 0, 0.0)
    >>> train_labels(rows, pairs, problem).weights.round(2).astype(str).tolist()
    ['0.67', '-0.67']
    """
    n_labels = pairs.indptr.size - 1
    prepared, chunks = prepare_rows(rows, scales, left_out), _chunks(pairs.indptr)
    shared = rows.n_features, np.zeros(n_labels, np.int64), np.zeros(n_labels)
    squares, parts = np.zeros(rows.n_features, np.int64), []
    trained: Generator[_Chunk, None, None]
    if (remote := remote_trainer()) is not None:
        trained = _train_remotely(remote, prepared, pairs, problem, chunks, shared)
    else:
        trained = in_order(
            lambda chunk: _train_chunk(prepared, pairs, problem, chunk, shared), chunks, n_jobs
        )
    with contextlib.closing(trained):  # after an error or Ctrl-C no further chunk is begun
        for (_, last), part in zip(chunks, trained, strict=True):
            parts.append(part.weights)
            squares += part.squares
            if done is not None:
                done(int(pairs.indptr[last]), int(pairs.indptr[-1]))
    return _assemble(join_chunks([_NONE, *parts]), squares, *shared[1:])


def _assemble(
    found: ChunkWeights,
    squares: NDArray[np.int64],
    sizes: NDArray[np.int64],
    biases: NDArray[np.float64],
) -> LabelModels:
    """Put the features of each label in ascending order."""
    indptr = pointers_of_sizes(np.maximum(sizes, 0))
    shape = sizes.size, squares.size
    models = sp.csr_array((found.weights, found.features, indptr), shape=shape, copy=False)
    models.sort_indices()
    features = models.indices.astype(np.int32, copy=False)
    modelled = (sizes >= 0).astype(np.uint8)
    return LabelModels(indptr, features, models.data, biases, modelled, squares, found.scores)


def _chunks(indptr: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Runs of labels with about ``_CHUNK`` pairs: the same whatever the number of threads."""
    n_labels = indptr.size - 1
    marks = np.searchsorted(indptr, np.arange(_CHUNK, indptr[-1] + _CHUNK, _CHUNK))
    bounds = np.unique(np.concatenate([[0], np.minimum(marks, n_labels), [n_labels]]))
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def _train_chunk(
    rows: kernels.DescentRows,
    pairs: kernels.Pairs,
    problem: kernels.Problem,
    chunk: tuple[int, int],
    shared: tuple[int, NDArray[np.int64], NDArray[np.float64]],
) -> _Chunk:
    """Train a run of labels; sizes and biases go to the shared arrays, the rest is returned."""
    n_features, sizes, biases = shared
    most = int(np.diff(pairs.indptr[chunk[0] : chunk[1] + 1]).max(initial=0))
    buffers = kernels.Buffers(
        weights=np.zeros(n_features),
        duals=np.empty(most),
        order=np.empty(most, np.int64),
        touched=np.empty(most, np.uint8),
        squares=np.zeros(n_features, np.int64),
    )
    room, span = 2 * n_features + _ROOM, slice(*pairs.indptr[list(chunk)])
    n_scores = np.count_nonzero(rows.left_out[pairs.rows[span]]) if rows.left_out.size else 0
    models = kernels.Models(
        np.empty(room, np.int32), np.empty(room, np.float32), sizes, biases,
        np.empty(n_scores, np.float32),
    )  # fmt: skip
    parts, label = [], chunk[0]
    while label < chunk[1]:
        label, *ends = kernels.descend(rows, pairs, problem, buffers, models, label, chunk[1])
        kept, scored = ends
        found = models.features[:kept], models.weights[:kept], models.scores[:scored]
        parts.append(ChunkWeights(*(part.copy() for part in found)))
    return _Chunk(join_chunks(parts), buffers.squares)


def _train_remotely(
    remote: RemoteTrainer,
    rows: kernels.DescentRows,
    pairs: kernels.Pairs,
    problem: kernels.Problem,
    chunks: list[tuple[int, int]],
    shared: tuple[int, NDArray[np.int64], NDArray[np.float64]],
) -> Generator[_Chunk, None, None]:
    """Train the chunks remotely; as `_train_chunk`, one after the other."""
    n_features, sizes, biases = shared
    tasks = (_label_task(pairs, problem, chunk, n_features) for chunk in chunks)
    for (first, last), done in zip(chunks, remote.train(rows, tasks), strict=True):
        sizes[first:last], biases[first:last] = done.sizes, done.biases
        yield _Chunk(done.weights, done.squares)


def _label_task(
    pairs: kernels.Pairs, problem: kernels.Problem, chunk: tuple[int, int], n_features: int
) -> LabelTask:
    first, last = chunk
    indptr = pairs.indptr[first : last + 1]
    span = slice(int(indptr[0]), int(indptr[-1]))
    part = kernels.Pairs(indptr - indptr[0], *(array[span] for array in pairs[1:]))
    costs = problem._replace(costs=problem.costs[first:last])
    return LabelTask(first, problem.costs.size, n_features, part, costs)


def train_task(rows: kernels.DescentRows, task: LabelTask) -> TrainedTask:
    """Train a run of labels from what was sent; a label's random numbers depend on its id."""
    first, last = task.first, task.first + task.problem.costs.size
    indptr, costs = np.zeros(task.n_labels + 1, np.int64), np.zeros(task.n_labels)
    indptr[first : last + 1], costs[first:last] = task.pairs.indptr, task.problem.costs
    sizes, biases = np.zeros(task.n_labels, np.int64), np.zeros(task.n_labels)
    weights, squares = _train_chunk(
        kernels.DescentRows(*map(frozen, rows)),
        kernels.Pairs(indptr, *map(np.array, task.pairs[1:])),  # writable, as where they were made
        task.problem._replace(costs=costs),
        (first, last),
        (task.n_features, sizes, biases),
    )
    return TrainedTask(weights, squares, sizes[first:last], biases[first:last])


def held_out_scores(
    truth: LabelRows,
    pairs: Pairs,
    scores: NDArray[np.float32],
    votes: NDArray[np.float32],
    out: NDArray[np.int64],
) -> HeldOutScores:
    """Scores of the candidates of the rows ``out``, which were left out of training, row by row.

    Parameters
    ----------
    truth : LabelRows
    pairs : Pairs
    scores : array of float32
        Of the candidates of these rows, in the order of the pairs; not a number where the label
        has no model without them: then the vote alone is the score.
    votes : array of float32
        What that is, in the same order.
    out : array of int64
    """
    is_out = np.zeros(truth.n_rows, bool)
    is_out[out] = True
    asked = np.flatnonzero(is_out[pairs.rows] & (pairs.signs != MISSED))
    labels = np.searchsorted(pairs.indptr, asked, side="right") - 1
    order = np.argsort(pairs.rows[asked], kind="stable")
    return HeldOutScores(
        rows=pairs.rows[asked][order].astype(np.int64),
        labels=labels[order],
        scores=np.where(np.isnan(scores), votes, scores)[order].astype(np.float64),
        right=(pairs.signs[asked] > 0)[order],
        n_positives=int(np.diff(truth.indptr)[out].sum()),
    )


MAX_WEIGHT_BITS = SCORE_BITS - QUANTISED_BITS
"""Most bits of the scale of weights: beyond, a dot product would be finer than a score."""
_LARGEST = 2**15 - 1


def quantise_models(models: LabelModels, tables: NDArray[np.int64], min_shift: int = 0) -> Ranker:
    """Round weights to 16 bits with one power of two as scale; those that become 0 are dropped.

    Parameters
    ----------
    models : LabelModels
    tables : array of int64, (2, n_cuts, N_BINS)
        Vote score of labels without and with a model.
    min_shift : int
        Of the scale, where other models have one already.

    Examples
    --------
    >>> models = LabelModels(np.asarray([0, 2]), np.asarray([0, 3], np.int32),
    ...                      np.asarray([1.5, -0.25], np.float32), np.asarray([0.5]),
    ...                      np.ones(1, np.uint8), np.zeros(4, np.int64))
    >>> found = quantise_models(models, np.zeros((2, 1, 1281), np.int64))
    >>> found.shift, found.weights.tolist(), found.biases.tolist() == [2**37]
    (1, [24576, -4096], True)
    """
    largest = float(np.abs(models.weights).max(initial=0.0))
    bits = MAX_WEIGHT_BITS - min_shift
    while bits > 0 and largest * 2.0**bits > _LARGEST:
        bits -= 1
    rounded = np.rint(models.weights.astype(np.float64) * 2.0**bits)
    weights = np.clip(rounded, -_LARGEST, _LARGEST).astype(np.int16)
    kept = weights != 0
    return Ranker(
        indptr=np.concatenate([[0], np.cumsum(kept)])[models.indptr],
        features=models.features[kept],
        weights=weights[kept],
        biases=np.rint(models.biases * 2.0**SCORE_BITS).astype(np.int64),
        modelled=models.modelled,
        tables=tables.reshape(-1),
        shift=MAX_WEIGHT_BITS - bits,
    )
