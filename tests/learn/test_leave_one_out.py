"""Candidates of a training row are those of a model without the row and its copies."""

import numpy as np
import pytest

from swnn_kernels.learn.candidates import Selection, find_candidates
from swnn_kernels.vote import Labels
from swnn_xp import SWNNClassifier
from swnn_xp.learn.candidates import Voters, copy_numbers, leave_one_out
from swnn_xp.rows.canonical import canonical_rows, label_rows, quantise_rows

S, CUTS, K = 10, (2, 5, 10), 4


def random_rows(seed, copies):
    rng = np.random.default_rng(seed)
    X = rng.choice([0, 0, 1, 2], (40, 9)).astype(float)
    Y = (rng.random((40, 6)) < 0.3).astype(int)
    for _ in range(copies):
        at = rng.integers(40, size=2)
        X[at[1]], Y[at[1]] = X[at[0]], Y[at[0]]
    X[5] = 0  # without neighbours
    Y[6] = 0  # without labels
    return X, Y


def prepared(labels):
    return Labels.prepare(labels.indptr, labels.indices)


@pytest.mark.parametrize("copies", [0, 12])
@pytest.mark.parametrize("seed", range(3))
def test_as_if_refitted_without_the_row_and_its_copies(seed, copies):
    X, Y = random_rows(seed, copies)
    labels = label_rows(Y)
    voters = Voters(prepared(labels), copy_numbers(quantise_rows(canonical_rows(X)), labels))
    same = [
        np.flatnonzero((X == x).all(axis=1) & (Y == y).all(axis=1))
        for x, y in zip(X, Y, strict=True)
    ]
    assert [int(group[0]) for group in same] == voters.copies.tolist()
    assert (max(map(len, same)) > 1) == bool(copies)
    found = SWNNClassifier().fit(X, Y).kneighbors(X, S + 1)
    mine = leave_one_out(found, voters, 0, Selection(CUTS, K, 1.0))
    _, shares, _ = find_candidates(
        voters.labels, Selection(CUTS, K, 1.0), found[::-1], (voters.copies, voters.copies)
    )
    for row, group in enumerate(same):
        others = np.setdiff1d(np.arange(40), group)
        # S + 1 neighbours were searched: each copy among them takes the place of another.
        n_left = min(S, S + 1 - int(np.isin(found.ids[row], group).sum()))
        again = SWNNClassifier().fit(X[others], Y[others]).kneighbors(X[[row]], n_left)
        expected, its, _ = find_candidates(
            prepared(label_rows(Y[others])), Selection(CUTS, K, 1.0), again[::-1]
        )
        assert mine.labels[row].tolist() == expected[0].tolist()
        assert shares[row].tolist() == its[0].tolist()
        right = [label >= 0 and bool(Y[row, label]) for label in expected[0]]
        assert mine.right[row].tolist() == right


def test_blocks_of_rows_are_numbered_on():
    X, Y = random_rows(3, 8)
    labels = label_rows(Y)
    voters = Voters(prepared(labels), copy_numbers(quantise_rows(canonical_rows(X)), labels))
    found = SWNNClassifier().fit(X, Y).kneighbors(X, S + 1)
    whole = leave_one_out(found, voters, 0, Selection(CUTS, K, 1.0))
    part = leave_one_out(
        type(found)(found.similarities[13:20], found.ids[13:20]),
        voters,
        13,
        Selection(CUTS, K, 1.0),
    )
    for mine, its in zip(part, whole, strict=True):
        np.testing.assert_array_equal(mine, its[13:20])


def test_rows_that_differ_in_labels_alone_do_vote():
    X, Y = np.ones((3, 2)), np.asarray([[1, 0], [1, 0], [0, 1]])
    numbers = copy_numbers(quantise_rows(canonical_rows(X)), label_rows(Y))
    assert numbers.tolist() == [0, 0, 2]


def test_a_label_twice_in_a_forged_row_stays_inside_the_tables():
    """A regression: its share, above 1, had a bin beyond the last."""
    from swnn_kernels.learn.candidates import N_BINS, fill_bins

    forged = Labels.prepare(np.asarray([0, 3]), np.asarray([2, 2, 2]))
    found = np.asarray([[0]]), np.asarray([[0.5]])
    labels, shares, _ = find_candidates(forged, Selection((1,), 2, 1.0), found)
    assert (labels.tolist(), shares[0, 0, 0]) == ([[2, -1]], 3.0)
    bins = np.empty(6, np.uint16)
    fill_bins(np.asarray([0.0, 1.0, 3.0, 1e300, -0.5, -1e300]), bins)
    assert bins.tolist() == [0, N_BINS - 1, N_BINS - 1, N_BINS - 1, 0, 0]


def test_bins_are_the_knots_at_or_below():
    from swnn_kernels.learn.candidates import fill_bins
    from swnn_xp.learn.candidates import knots

    rng = np.random.default_rng(0)
    ends = knots() - 2.0**-10
    shares = np.concatenate([
        rng.random(2000), rng.random(500) ** 8, ends,
        np.nextafter(ends, 0), np.minimum(1, np.nextafter(ends, 2)), [0.0, 1.0],
    ])  # fmt: skip
    bins = np.empty(shares.size, np.uint16)
    fill_bins(shares, bins)
    expected = np.searchsorted(knots(), shares + 2.0**-10, side="right") - 1
    np.testing.assert_array_equal(bins, expected)
