"""Training: (row, label) pairs sorted by label, and dual coordinate descent for each label.

For the pairs (row, sign y, offset o, cost c) of a label the descent finds the minimum of
``|w|**2 / 2 + b**2 / 2 + sum of c * max(0, 1 - y * (w.u + b * f + o))**2``, where u is the row's
unit values and f its bias feature. With D = 1 / (2c) and a dual variable a >= 0 for each pair:
``G = y * (w.u + b * f + o) - 1 + D * a`` and ``a <- max(0, a - G / (|u|**2 + f**2 + D))``.
A label depends on nothing but its own pairs and seed: any number of threads gives the same.

The fixed offsets are vote scores, which tables give; `look_up` and `add_moments` serve to fit them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels._numba import inline, kernel, prefetch
from swnn_kernels.records import (
    Bool,
    Float,
    Float32,
    Float64,
    Int,
    Int8,
    Int32,
    Int64,
    Uint8,
    Uint16,
)

SQUARES_SCALE = 2.0**32
"""Squared weights are added up as integers of this scale: in any order, the same sum."""
_LINE = 16  # features or values of a cache line
_AHEAD = 4  # pairs between the request for a row's pointers and their use
_ENOUGH_BIAS = 0.5  # of missed positives: from here on they alone make a model
_PASSES_WITHOUT = 3  # over pairs of a label once rows were left out
MISSED = 2
"""Sign of a positive pair whose label was no candidate of its row."""


class DescentRows(NamedTuple):
    """Training rows, of unit length before their features were scaled."""

    indptr: Int64  # (n_rows + 1,)
    features: Int32  # (nnz,)
    values: Float32  # (nnz,): quantised values / 2**23, exact, times the scale
    norms: Float64  # (n_rows,): squared length
    scales: Float32  # (n_features,): a large one makes a large weight cost less
    left_out: Uint8  # (n_rows,) or empty: 1 for rows to score by models without them


class Pairs(NamedTuple):
    """(row, label) pairs, by label and in each label by row."""

    indptr: Int64  # (n_labels + 1,)
    rows: Int32
    offsets: Float32
    signs: Int8  # 1, -1 or MISSED


class Problem(NamedTuple):
    """What is minimised, and when to stop."""

    costs: Float64  # (n_labels,): C of each label
    missed: float  # cost of a positive that was no candidate, relative to C
    missed_bias: float  # its bias feature; 1 for all others
    tolerance: float  # largest projected gradient at the end
    passes: int  # at most
    seed: int
    dropped: float  # weights up to this magnitude are not kept


class Buffers(NamedTuple):
    """Memory of one thread; between labels ``weights`` holds zeros."""

    weights: Float64  # (n_features,)
    duals: Float64  # pairs of the largest label
    order: Int64  # the same
    touched: Uint8  # the same: 1 once a pair has changed the weights
    squares: Int64  # (n_features,): sums of squared weights over all labels


class Models(NamedTuple):
    """The models found: ``sizes[l]`` weights for each label, one label after the other."""

    features: Int32  # room for n_features at least
    weights: Float32  # the same
    sizes: Int64  # (n_labels,): -1 for a label without a model
    biases: Float64  # (n_labels,)
    scores: Float32  # of the candidates of rows left out, in the order of the pairs


@kernel
def measure_rows(indptr: Int64, values: Float32, norms: Float64) -> None:
    """Squared length of each row; exact where values have 24 bits and the length is about 1."""
    for row in range(norms.size):
        total = 0.0
        for p in range(indptr[row], indptr[row + 1]):
            total += np.float64(values[p]) * np.float64(values[p])
        norms[row] = total


@inline
def _next_random(state: Int) -> Int:
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@inline
def _first_state(seed: Int, label: Int) -> Int:
    """Start of a label's random numbers: splitmix64 of seed and label, never 0."""
    state = np.uint64(seed) * np.uint64(0xD1B54A32D192ED03) + np.uint64(label + 1)
    state *= np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (state ^ (state >> np.uint64(31))) | np.uint64(1)


@inline
def _shuffle(order: Int64, size: Int, state: Int) -> Int:
    for i in range(size - 1):
        state = _next_random(state)
        j = i + np.int64((state >> np.uint64(33)) % np.uint64(size - i))
        order[i], order[j] = order[j], order[i]
    return state


@inline
def _product(rows: DescentRows, p: Int, weights: Float64) -> Float:
    return weights[np.uint64(rows.features[p])] * rows.values[p]


@inline
def _margin(rows: DescentRows, row: Int, weights: Float64) -> Float:
    """Dot product of a row and the weights.

    Four sums side by side: one alone would wait for each addition before the next.
    """
    p, last = np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])
    one = two = three = four = 0.0
    for _ in range((last - p) >> np.uint64(2)):
        one += _product(rows, p, weights)
        two += _product(rows, p + np.uint64(1), weights)
        three += _product(rows, p + np.uint64(2), weights)
        four += _product(rows, p + np.uint64(3), weights)
        p += np.uint64(4)
    while p < last:
        one += _product(rows, p, weights)
        p += np.uint64(1)
    return (one + two) + (three + four)


@inline
def _add_row(rows: DescentRows, row: Int, factor: Float, weights: Float64) -> None:
    for f in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
        weights[np.uint64(rows.features[f])] += factor * rows.values[f]


@inline
def _step(
    rows: DescentRows,
    pairs: Pairs,
    p: Int,
    dual: Float,
    bias: Float,
    weights: Float64,
    extra: tuple[Float, Float],
) -> tuple[Float, Float, Float]:
    """Update one dual variable; the new dual, the new bias and the projected gradient."""
    diagonal, bias_feature = extra
    row = pairs.rows[p]
    sign = 1.0 if pairs.signs[p] > 0 else -1.0
    score = _margin(rows, row, weights) + bias * bias_feature + pairs.offsets[p]
    gradient = sign * score - 1.0 + diagonal * dual
    if dual == 0.0 and gradient >= 0.0:
        return dual, bias, 0.0
    reach = rows.norms[row] + bias_feature * bias_feature + diagonal
    updated = max(0.0, dual - gradient / reach)
    change = (updated - dual) * sign
    _add_row(rows, row, change, weights)
    return updated, bias + change * bias_feature, abs(gradient)


@inline
def _prefetch_row(rows: DescentRows, row: Int) -> None:
    """Prefetch a row: rows come in random order."""
    for p in range(rows.indptr[row], rows.indptr[row + 1], _LINE):
        prefetch(rows.features, p)
        prefetch(rows.values, p)


@inline
def _prefetch_ahead(
    rows: DescentRows, pairs: Pairs, first: Int, order: Int64, at: Int, size: Int
) -> None:
    """Prefetch the next row and, well before a later one is fetched, where that begins."""
    if at + _AHEAD < size:
        prefetch(rows.indptr, pairs.rows[first + order[at + _AHEAD]])
    if at + 1 < size:
        _prefetch_row(rows, pairs.rows[first + order[at + 1]])


@inline
def _extras(problem: Problem, label: Int) -> tuple[tuple[Float, Float], tuple[Float, Float]]:
    """D and bias feature: of a label's candidates, and of positives that were none."""
    diagonal = 0.5 / problem.costs[label]
    return (diagonal, 1.0), (diagonal / problem.missed, problem.missed_bias)


@inline
def _visit(
    rows: DescentRows,
    pairs: Pairs,
    first: Int,
    i: Int,
    bias: Float,
    extras: tuple[tuple[Float, Float], tuple[Float, Float]],
    buffers: Buffers,
) -> tuple[Float, Float]:
    """Update the i-th dual variable of a label; the bias and the projected gradient."""
    extra = extras[1] if pairs.signs[first + i] == MISSED else extras[0]
    buffers.duals[i], bias, gradient = _step(
        rows, pairs, first + i, buffers.duals[i], bias, buffers.weights, extra
    )
    if buffers.duals[i] != 0.0:
        buffers.touched[i] = 1
    return bias, gradient


@inline
def _solve(
    rows: DescentRows, pairs: Pairs, label: Int, problem: Problem, buffers: Buffers
) -> Float:
    """Descend for one label, into ``buffers.weights``; the bias."""
    first = pairs.indptr[label]
    size = pairs.indptr[label + 1] - first
    extras = _extras(problem, label)
    for i in range(size):
        buffers.duals[i] = 0.0
        buffers.order[i] = i
        buffers.touched[i] = 0
    bias, state = 0.0, _first_state(problem.seed, label)
    for _ in range(problem.passes):
        state = _shuffle(buffers.order, size, state)
        largest = 0.0
        for at in range(size):
            i = buffers.order[at]
            _prefetch_ahead(rows, pairs, first, buffers.order, at, size)
            bias, gradient = _visit(rows, pairs, first, i, bias, extras, buffers)
            largest = max(largest, gradient)
        if largest < problem.tolerance:
            break
    return bias


@inline
def _take_weights(
    rows: DescentRows,
    pairs: Pairs,
    label: Int,
    dropped: Float,
    buffers: Buffers,
    models: Models,
    kept: Int,
) -> Int:
    """Move the weights out of the buffer, which is left all zeros; the number kept so far.

    They become weights of features that are not scaled.
    A pair whose dual variable rose and fell back to 0 leaves rounding errors in the weights.
    """
    first, last = pairs.indptr[label], pairs.indptr[label + 1]
    for p in range(first, last):
        if not buffers.touched[p - first]:
            continue
        row = pairs.rows[p]
        for f in range(rows.indptr[row], rows.indptr[row + 1]):
            feature = rows.features[f]
            weight = buffers.weights[feature]
            if weight == 0.0:  # nearly always: an earlier row had the feature
                continue
            buffers.weights[feature] = 0.0
            weight *= rows.scales[feature]
            buffers.squares[feature] += np.int64(np.rint(weight * weight * SQUARES_SCALE))
            if abs(weight) > dropped:
                models.features[kept] = feature
                models.weights[kept] = weight
                kept += 1
    return kept


@inline
def _any_right(
    rows: DescentRows, pairs: Pairs, label: Int, problem: Problem, all_rows: Bool
) -> Bool:
    """Whether a label has a positive pair; or only then if it is one of a row not left out.

    Missed positives are not enough if they hardly move the bias, which then only falls.
    """
    right, last = False, MISSED if problem.missed_bias >= _ENOUGH_BIAS else 1
    for p in range(pairs.indptr[label], pairs.indptr[label + 1]):
        is_right = pairs.signs[p] > 0 and pairs.signs[p] <= last
        right |= is_right and (all_rows or not rows.left_out[pairs.rows[p]])
    return right


@inline
def _solve_without(
    rows: DescentRows, pairs: Pairs, label: Int, problem: Problem, buffers: Buffers
) -> Float:
    """Descend on from a label's solution, without the rows left out; the bias.

    Their part is taken from the weights; a few passes over the other pairs that had a part make up
    for it.
    """
    first = pairs.indptr[label]
    size = pairs.indptr[label + 1] - first
    extras, bias, active = _extras(problem, label), 0.0, 0
    for i in range(size):
        row, dual = pairs.rows[first + i], buffers.duals[i]
        if dual == 0.0 or rows.left_out[row]:
            continue
        sign = 1.0 if pairs.signs[first + i] > 0 else -1.0
        _add_row(rows, row, dual * sign, buffers.weights)
        bias += dual * sign * (extras[1] if pairs.signs[first + i] == MISSED else extras[0])[1]
        buffers.order[active] = i
        active += 1
    for _ in range(_PASSES_WITHOUT):
        for at in range(active):
            _prefetch_ahead(rows, pairs, first, buffers.order, at, active)
            bias, _ = _visit(rows, pairs, first, buffers.order[at], bias, extras, buffers)
    return bias


@inline
def _clear(rows: DescentRows, pairs: Pairs, label: Int, buffers: Buffers) -> None:
    first = pairs.indptr[label]
    for p in range(first, pairs.indptr[label + 1]):
        row = pairs.rows[p]
        if buffers.touched[p - first]:
            for f in range(rows.indptr[row], rows.indptr[row + 1]):
                buffers.weights[rows.features[f]] = 0.0


@inline
def _kept_margin(rows: DescentRows, row: Int, weights: Float64, dropped: Float) -> Float:
    """Dot product of a row and the weights that a model would keep."""
    total = 0.0
    for p in range(rows.indptr[row], rows.indptr[row + 1]):
        feature = rows.features[p]
        if abs(weights[feature] * rows.scales[feature]) > dropped:
            total += weights[feature] * rows.values[p]
    return total


@inline
def _score_left_out(
    rows: DescentRows,
    pairs: Pairs,
    label: Int,
    problem: Problem,
    buffers: Buffers,
    models: Models,
    scored: Int,
) -> Int:
    """Score the candidates of rows left out by models without them; the number scored so far.

    The score is not a number where no model would be left.
    """
    is_asked = False
    for p in range(pairs.indptr[label], pairs.indptr[label + 1]):
        is_asked |= rows.left_out[pairs.rows[p]] != 0 and pairs.signs[p] != MISSED
    if not is_asked:
        return scored
    has_model, bias = _any_right(rows, pairs, label, problem, False), 0.0
    if has_model:
        bias = _solve_without(rows, pairs, label, problem, buffers)
    for p in range(pairs.indptr[label], pairs.indptr[label + 1]):
        row = pairs.rows[p]
        if rows.left_out[row] and pairs.signs[p] != MISSED:
            score = _kept_margin(rows, row, buffers.weights, problem.dropped)
            models.scores[scored] = score + bias + pairs.offsets[p] if has_model else np.nan
            scored += 1
    if has_model:
        _clear(rows, pairs, label, buffers)
    return scored


@kernel
def descend(
    rows: DescentRows,
    pairs: Pairs,
    problem: Problem,
    buffers: Buffers,
    models: Models,
    first: Int,
    last: Int,
) -> tuple[Int, Int, Int]:
    """Train labels from ``first`` on, to ``last`` or while there is room for a model.

    Returns the first label not trained, the number of weights kept and that of scores. A label's
    features come in the order in which they were met.
    """
    kept, scored = np.int64(0), np.int64(0)
    for label in range(first, last):
        if models.features.size - kept < buffers.weights.size:
            return label, kept, scored
        models.sizes[label] = -1
        models.biases[label] = 0.0
        if _any_right(rows, pairs, label, problem, True):
            before = kept
            models.biases[label] = _solve(rows, pairs, label, problem, buffers)
            kept = _take_weights(rows, pairs, label, problem.dropped, buffers, models, kept)
            models.sizes[label] = kept - before
        if rows.left_out.size:
            scored = _score_left_out(rows, pairs, label, problem, buffers, models, scored)
    return last, kept, scored


class Block(NamedTuple):
    """Candidates of successive rows, and the labels these rows have."""

    first: int  # number of the first row
    labels: Int32  # (n, K): candidates, -1 where there is none
    right: Uint8  # (n, K)
    label_indptr: Int64  # (n_rows + 1,): the labels of all rows
    label_indices: Int32


@inline
def _is_candidate(labels: Int32, q: Int, label: Int) -> Bool:
    found = False
    for i in range(labels.shape[1]):
        found |= labels[q, i] == label
    return found


@kernel
def count_pairs(block: Block, missed: Bool, counts: Int64) -> None:
    """Add the pairs of each label to ``counts``; positives that are no candidates if ``missed``."""
    for q in range(block.labels.shape[0]):
        for i in range(block.labels.shape[1]):
            if block.labels[q, i] >= 0:
                counts[block.labels[q, i]] += 1
        row = block.first + q
        if missed:
            for p in range(block.label_indptr[row], block.label_indptr[row + 1]):
                if not _is_candidate(block.labels, q, block.label_indices[p]):
                    counts[block.label_indices[p]] += 1


@inline
def _put(pairs: Pairs, ends: Int64, label: Int, row: Int, offset: Float, sign: Int) -> None:
    at = ends[label]
    pairs.rows[at] = row
    pairs.offsets[at] = offset
    pairs.signs[at] = sign
    ends[label] = at + 1


@kernel
def place_pairs(
    block: Block, offsets: Float32, missed: Bool, missed_offset: Float, ends: Int64, pairs: Pairs
) -> None:
    """Append each pair of a block to the pairs of its label; ``ends`` advances."""
    for q in range(block.labels.shape[0]):
        row = block.first + q
        for i in range(block.labels.shape[1]):
            label = block.labels[q, i]
            if label >= 0:
                sign = 1 if block.right[q, i] else -1
                _put(pairs, ends, label, row, offsets[q, i], sign)
        if missed:
            for p in range(block.label_indptr[row], block.label_indptr[row + 1]):
                if not _is_candidate(block.labels, q, block.label_indices[p]):
                    _put(pairs, ends, block.label_indices[p], row, missed_offset, MISSED)


@kernel
def look_up(bins: Uint16, tables: Int64, scores: Int64) -> None:
    """Vote score of each candidate: bins (n, n_cuts), tables (n_cuts, N_BINS), all integers."""
    for i in range(bins.shape[0]):
        total = np.int64(0)
        for c in range(bins.shape[1]):
            total += tables[c, bins[i, c]]
        scores[i] = total


@kernel
def add_moments(
    values: Float64,
    marks: Int32,
    signs: Float64,
    weights: Float64,
    hessian: Float64,
    gradient: Float64,
) -> None:
    """Add the second moments of the pairs inside the margin, and their first with the sign.

    A pair has values in the first columns; in those behind them it has 1 where ``marks`` holds the
    column, and else 0. Marks of a pair ascend; -1 is none. Only the lower triangle of ``hessian``
    is filled.
    """
    n, m = values.shape
    n_marks = marks.shape[1]
    for i in range(n):
        score = 0.0
        for a in range(m):
            score += weights[a] * values[i, a]
        for t in range(n_marks):
            if marks[i, t] >= 0:
                score += weights[marks[i, t]]
        if signs[i] * score >= 1.0:
            continue
        for a in range(m):
            gradient[a] += values[i, a] * signs[i]
            for b in range(a + 1):
                hessian[a, b] += values[i, a] * values[i, b]
        for t in range(n_marks):
            a = marks[i, t]
            if a < 0:
                continue
            gradient[a] += signs[i]
            for b in range(m):
                hessian[a, b] += values[i, b]
            for u in range(t + 1):
                if marks[i, u] >= 0:
                    hessian[a, marks[i, u]] += 1.0
