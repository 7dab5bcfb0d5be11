"""Candidates of training rows, and the vote score that is fitted to them.

Candidates are the labels that a row's neighbours vote for, with their shares of the votes, and
those that other sources of evidence list. They are what the ranker learns to sort: those that the
row does not have are the hard negatives.

The vote score says how likely a candidate is right, by its shares alone:
``b + sum over cuts of v * log(share + 2**-10) + v' * share``, the same for all labels, fitted by
squared hinge. What sources say adds to it: numbers in the same form, categories a value each. It is
additive, so that a table of integers for each cut, and for each table of a source, holds it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from swnn_kernels.learn import candidates as kernels
from swnn_kernels.learn.candidates import MANTISSA_BITS, N_BINS, SHARE_SHIFT, fill_bins
from swnn_kernels.learn.descent import add_moments
from swnn_kernels.learn.evidence import Evidence
from swnn_kernels.learn.rank import SCORE_BITS
from swnn_kernels.records import frozen
from swnn_kernels.vote import Labels
from swnn_xp.results import Neighbours
from swnn_xp.rows.excluded import is_excluded
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows


class Candidates(NamedTuple):
    """The best labels of each row by the votes of its neighbours, best first; then other ones."""

    labels: NDArray[np.int32]  # (n_rows, K + labels that sources list), -1 where there is none
    bins: NDArray[np.uint16]  # (..., n_cuts + tables of sources): the bin of each share
    right: NDArray[np.uint8]  # (...): 1 where the row has the label


def copy_numbers(rows: QuantisedRows, labels: LabelRows) -> NDArray[np.int64]:
    """Number the rows so that copies (same features, values and labels) have one number.

    Examples
    --------
    >>> one = np.asarray([2**23] * 3, np.int32)
    >>> rows = QuantisedRows(np.arange(4), np.asarray([0, 1, 0], np.int32), one, 2)
    >>> copy_numbers(rows, LabelRows(np.arange(4), np.asarray([5, 5, 5], np.int32), 6)).tolist()
    [0, 1, 0]
    """
    digests = np.empty(rows.n_rows, np.uint64)
    kernels.digest_rows(*map(frozen, (*rows[:3], labels.indptr, labels.indices)), digests)
    _, first, numbers = np.unique(digests, return_index=True, return_inverse=True)
    return first[numbers.reshape(-1)].astype(np.int64)


class Learners(NamedTuple):
    """The rows that need candidates, where the voters are only a part of the rows."""

    labels: Labels
    ignored: NDArray[np.int64]  # (n_rows,): votes of rows with this number do not count


class Voters(NamedTuple):
    """The rows that vote: their labels, and numbers that copies of one another share."""

    labels: Labels
    copies: NDArray[np.int64]  # (n_rows,)
    rows: Learners | None = None  # None: the voters themselves


def leave_one_out(
    found: Neighbours,
    voters: Voters,
    first: int,
    selection: kernels.Selection,
    evidence: Sequence[Evidence] = (),
) -> Candidates:
    """Candidates of the rows ``first``, ``first + 1``, ... as if they were not among the voters.

    The evidence is what the selection's sources list for these rows.
    """
    labels, ignored = voters.rows or Learners(voters.labels, voters.copies)
    truth, own = (labels.indptr, labels.indices, first), ignored[first : first + len(found.ids)]
    return _candidates(found, voters, own, truth, selection, evidence)


def candidates_of(
    found: Neighbours,
    voters: Voters,
    rows: NDArray[np.int64],
    truth: LabelRows,
    selection: kernels.Selection,
    evidence: Sequence[Evidence] = (),
) -> Candidates:
    """Candidates of any rows, given with their labels, as if they were not among the voters."""
    own = frozen(truth.indptr), frozen(truth.indices), 0
    ignored = voters.copies if voters.rows is None else voters.rows.ignored
    return _candidates(found, voters, ignored[rows], own, selection, evidence)


def _candidates(
    found: Neighbours,
    voters: Voters,
    copies: NDArray[np.int64],
    truth: tuple[NDArray[np.int64], NDArray[np.int32], int],
    selection: kernels.Selection,
    evidence: Sequence[Evidence],
) -> Candidates:
    both = voters.copies, copies
    labels, shares, listed = kernels.find_candidates(
        voters.labels, selection, (found.ids, found.similarities), both, evidence
    )
    bins = np.empty(shares.shape, np.uint16)
    fill_bins(shares.reshape(-1), bins.reshape(-1))
    if listed.size:
        bins = np.concatenate([bins, listed], axis=2)
    right = np.empty(labels.shape, np.uint8)
    kernels.mark_right(labels, *truth, right)
    return Candidates(labels, bins, right)


def without_excluded(block: Candidates, excluded: LabelRows | None) -> Candidates:
    """Candidates without the labels that their rows must not get."""
    if excluded is None:
        return block
    out = is_excluded(excluded, block.labels)
    labels = np.where(out, np.int32(-1), block.labels)
    return block._replace(labels=labels, right=block.right * ~out)


_PENALTY = 0.0005
_PRIOR_PAIRS = 5.0  # a category's weight is shrunk as if it had this many pairs of sign 0
_ROUNDS = 30
_CLOSE = 1e-6
_CONSTANT = 1e-9  # a column that deviates less is one number, up to the rounding of its mean
_FITTED_BITS = 24  # of the fitted numbers: what is below depends on the build of LAPACK
_MANY_PAIRS = 100_000  # from here on, rounds begin at what fits every tenth pair


class VoteScore(NamedTuple):
    """The value of each bin, for each cut and each table of a source.

    The constant is in the first cut's; bin 0 of a source's table has value 0.
    """

    values: NDArray[np.float64]  # (n_cuts + tables of sources, N_BINS)

    def tables(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """Turn the values, times a weight for each table, into integers."""
        return np.rint(self.values * (weights[:, None] * 2.0**SCORE_BITS)).astype(np.int64)


def knots() -> NDArray[np.float64]:
    """Lower ends of the bins of ``share + 2**-10``, all exact.

    Examples
    --------
    >>> knots()[[0, 1, 128, 1280]].tolist() == [2**-10, 2**-10 * (1 + 1 / 128), 2**-9, 1.0]
    True
    """
    steps = np.arange(N_BINS)
    octave, step = steps >> MANTISSA_BITS, steps & ((1 << MANTISSA_BITS) - 1)
    return np.ldexp(1 + step / (1 << MANTISSA_BITS), octave - 10)


def bin_shares() -> NDArray[np.float64]:
    """Share that represents each bin: its middle; 0 for the first and 1 for the last."""
    ends = knots() - SHARE_SHIFT
    return np.concatenate([[0.0], (ends[1:-1] + ends[2:]) / 2, [1.0]])


def bins_of(numbers: Array) -> Array:
    """Find the bin of shares or cosines, with array-API functions; int64."""
    xp = array_namespace(numbers)
    ends = xp.asarray(knots(), dtype=xp.float64, device=device(numbers))
    numbers = xp.where(numbers > 0, numbers, xp.zeros_like(numbers))  # as a kernel's bins do
    at = xp.searchsorted(ends, xp.reshape(numbers + SHARE_SHIFT, (-1,)), side="right") - 1
    return xp.reshape(at, numbers.shape)


def fit_vote_score(
    bins: NDArray[np.uint16], right: NDArray[np.uint8], tables: Sequence[int] = ()
) -> VoteScore:
    """Fit the vote score to candidates.

    Parameters
    ----------
    bins : array of uint16, (n_pairs, n_cuts + tables of sources)
    right : array of bool or uint8, (n_pairs,)
    tables : sequence of int
        Categories of each table of the sources; 0 for numbers. See `SourceShape`.

    Examples
    --------
    >>> bins = np.asarray([[0], [1280], [0], [1280]], np.uint16)
    >>> fitted = fit_vote_score(bins, np.asarray([0, 1, 0, 1], np.uint8))
    >>> fitted.values[0, [0, 1280]].round(1).tolist()
    [-1.0, 1.0]
    """
    n_cuts = bins.shape[1] - len(tables)
    columns = _columns()
    table = np.zeros((bins.shape[1], N_BINS))
    if not bins.size or right.all() or not right.any():  # nothing to tell apart
        table[:n_cuts] = columns[1] / n_cuts
        return VoteScore(table)
    shares, listed = bins[:, :n_cuts], bins[:, n_cuts:]
    parts = [column[shares] for column in columns]
    numbers = np.stack([*columns, np.arange(N_BINS) == 0], axis=1)  # of a table of numbers
    parts += [numbers[listed[:, t]] for t, n in enumerate(tables) if not n]
    values = np.concatenate(parts, axis=1)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    deviation[deviation < _CONSTANT] = 1.0
    signs, n_values = np.where(right, 1.0, -1.0), values.shape[1]
    marks, of_tables, n_columns = _marks(listed, tables, n_values + 1)
    weights = _newton((values - mean) / deviation, marks, signs, n_columns)
    slopes = weights[:n_values] / deviation
    constant = _rounded(weights[n_values] - (slopes * mean).sum())
    slopes, weights = _rounded(slopes), _rounded(weights)
    table[:n_cuts] = np.stack([column * slopes[i * n_cuts : (i + 1) * n_cuts, None]
                               for i, column in enumerate(columns)]).sum(axis=0)  # fmt: skip
    at = len(columns) * n_cuts
    for t, n in enumerate(tables):
        if n:
            table[n_cuts + t, 1:n] = weights[of_tables[t] + 1 : of_tables[t] + n]
            continue
        mine = (numbers * slopes[at : at + numbers.shape[1]]).sum(axis=1)  # no BLAS: bits differ
        table[n_cuts + t], constant = mine - mine[0], constant + mine[0]
        at += numbers.shape[1]
    table[0] += constant
    return VoteScore(table)


def _marks(
    bins: NDArray[np.uint16], tables: Sequence[int], first: int
) -> tuple[NDArray[np.int32], list[int], int]:
    """Columns of the categories of each pair, and where each table's would begin; their end.

    Category 0, of labels that are not listed, has no column.
    """
    starts, at = [], first
    for n in tables:
        starts.append(at - 1)
        at += max(0, n - 1)
    kinds = [t for t, n in enumerate(tables) if n]
    marks = bins[:, kinds].astype(np.int32)
    shifts = np.asarray([starts[t] for t in kinds], np.int32)
    marks = np.where(marks > 0, marks + shifts, np.int32(-1))
    return np.ascontiguousarray(marks), starts, at


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(mantissa, _FITTED_BITS)), exponent - _FITTED_BITS)


def _columns() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    shares = bin_shares()
    # NumPy's own logarithm differs in the last bit between processors and versions.
    return np.asarray([*map(math.log, shares + SHARE_SHIFT)]), shares


def _newton(
    values: NDArray[np.float64],
    marks: NDArray[np.int32],
    signs: NDArray[np.float64],
    n_columns: int,
) -> NDArray[np.float64]:
    """Minimise the mean squared hinge and a little L2.

    Weights are those of the values, the constant's, and those of the columns that are marked.
    """
    n, m = values.shape
    values = np.concatenate([values, np.ones((n, 1))], axis=1)
    of_categories = [_PRIOR_PAIRS] * (n_columns - m - 1)
    penalty = np.diag([_PENALTY * n / 2] * m + [0.0] + of_categories)
    weights = np.zeros(n_columns)
    if n >= _MANY_PAIRS:
        some = np.ascontiguousarray(values[::10]), marks[::10].copy(), signs[::10].copy()
        weights = _rounds(*some, penalty / 10, weights)
    return _rounds(values, marks, signs, penalty, weights)


def _rounds(
    values: NDArray[np.float64],
    marks: NDArray[np.int32],
    signs: NDArray[np.float64],
    penalty: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Newton's method from some weights on."""
    m = weights.size
    for _ in range(_ROUNDS):
        hessian, gradient = np.zeros((m, m)), np.zeros(m)
        add_moments(values, marks, signs, weights, hessian, gradient)
        hessian += np.tril(hessian, -1).T + penalty
        before = weights
        weights = np.asarray(np.linalg.lstsq(hessian, gradient, rcond=None)[0], np.float64)
        if np.abs(weights - before).max() < _CLOSE:
            break
    return weights
