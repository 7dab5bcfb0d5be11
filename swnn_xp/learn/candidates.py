"""Candidates: the labels that a row's neighbours vote for, with their shares.

They are what the ranker learns to sort: the labels that neighbours vote for and that the row does
not have are the hard negatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.dtypes import frozen
from swnn_kernels.learn import candidates as kernels
from swnn_kernels.learn.bins import fill_bins
from swnn_kernels.vote.labels import Labels
from swnn_xp.results import Neighbours
from swnn_xp.rows.records import LabelRows, QuantisedRows


class Candidates(NamedTuple):
    """The best labels of each row by the votes of its neighbours, best first."""

    labels: NDArray[np.int32]  # (n_rows, K), -1 where there is none
    bins: NDArray[np.uint16]  # (n_rows, K, n_cuts): the bin of each share
    right: NDArray[np.uint8]  # (n_rows, K): 1 where the row has the label


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
    """The rows that look for candidates, where they are not the voters."""

    labels: Labels
    own: NDArray[np.int64]  # (n_rows,): voters with this number are not heard


class Voters(NamedTuple):
    """The rows that vote: their labels, and numbers that copies of one another share."""

    labels: Labels
    copies: NDArray[np.int64]  # (n_rows,)
    rows: Learners | None = None  # None: the voters themselves


def leave_one_out(
    found: Neighbours, voters: Voters, first: int, selection: kernels.Selection
) -> Candidates:
    """Candidates of the rows ``first``, ``first + 1``, ... as if they were not among the voters."""
    labels, own = voters.rows or Learners(voters.labels, voters.copies)
    truth = labels.indptr, labels.indices, first
    return _candidates(found, voters, own[first : first + found.ids.shape[0]], truth, selection)


def candidates_of(
    found: Neighbours,
    voters: Voters,
    rows: NDArray[np.int64],
    truth: LabelRows,
    selection: kernels.Selection,
) -> Candidates:
    """Candidates of any rows, given with their labels, as if they were not among the voters."""
    own = frozen(truth.indptr), frozen(truth.indices), 0
    return _candidates(found, voters, voters.copies[rows], own, selection)


def _candidates(
    found: Neighbours,
    voters: Voters,
    copies: NDArray[np.int64],
    truth: tuple[NDArray[np.int64], NDArray[np.int32], int],
    selection: kernels.Selection,
) -> Candidates:
    both = voters.copies, copies
    labels, shares = kernels.find_candidates(
        voters.labels, selection, (found.ids, found.similarities), both
    )
    bins = np.empty(shares.shape, np.uint16)
    fill_bins(shares.reshape(-1), bins.reshape(-1))
    right = np.empty(labels.shape, np.uint8)
    kernels.mark_right(labels, *truth, right)
    return Candidates(labels, bins, right)
