"""Metrics against hand-made figures and independent implementations."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score, ndcg_score

from swnn_xp import metrics

Y = np.asarray([[1, 0, 1, 0, 1], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]])
LABELS = np.asarray([[0, 1, 2], [1, -1, -1], [3, 0, 1]])


def test_by_hand():
    assert metrics.precision_at_k(Y, LABELS, 1) == pytest.approx(2 / 3)
    assert metrics.precision_at_k(Y, LABELS, 3) == pytest.approx((2 / 3 + 1 / 3) / 3)
    assert metrics.max_precision_at_k(Y, 3) == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert metrics.recall_at_k(Y, LABELS, 3) == pytest.approx((2 / 3 + 1) / 3)
    # The row without labels is left out; row 0 has three labels, row 1 has one.
    assert metrics.r_precision_at_k(Y, LABELS, 1) == pytest.approx((1 + 1) / 2)
    assert metrics.r_precision_at_k(Y, LABELS, 2) == pytest.approx((1 / 2 + 1) / 2)
    assert metrics.r_precision_at_k(Y, LABELS, 3) == pytest.approx((2 / 3 + 1) / 2)
    gain = [1, 1 / math.log2(3), 0.5]
    ndcg = ((gain[0] + gain[2]) / sum(gain) + 1 + 0) / 3
    assert metrics.ndcg_at_k(Y, LABELS, 3) == pytest.approx(ndcg)
    assert metrics.coverage_at_k(Y, LABELS, 3) == pytest.approx(3 / 4)


def test_propensity_by_hand():
    n, A, B = 10, 0.55, 1.5
    y_train = np.zeros((n, 2))
    y_train[:4, 0] = 1
    C = (math.log(n) - 1) * (B + 1) ** A
    expected = [1 / (1 + C * math.exp(-A * math.log(count + B))) for count in (4, 0)]
    assert metrics.propensities(y_train) == pytest.approx(expected)


def test_propensity_scored_by_hand():
    p = np.asarray([0.5, 0.25, 0.2, 0.9, 0.1])
    # Row 0 has 0, 2, 4 (gains 2, 5, 10); it got 0 and 2. Row 1 has 1 (gain 4) and got it.
    assert metrics.psp_at_k(Y, LABELS, 3, p) == pytest.approx((2 + 5 + 4) / (10 + 5 + 2 + 4))
    assert metrics.psp_at_k(Y, LABELS, 1, p) == pytest.approx((2 + 4) / (10 + 4))
    d = [1, 1 / math.log2(3), 0.5]
    reached = (2 * d[0] + 5 * d[2]) / sum(d) + 4
    best = (10 * d[0] + 5 * d[1] + 2 * d[2]) / sum(d) + 4
    assert metrics.psndcg_at_k(Y, LABELS, 3, p) == pytest.approx(reached / best)


@pytest.mark.parametrize("seed", range(5))
def test_against_independent_implementations(seed):
    rng = np.random.default_rng(seed)
    y_true = (rng.random((40, 12)) < 0.3).astype(int)
    y_true[y_true.sum(axis=1) == 0, 0] = 1  # scikit-learn leaves rows without labels out
    scores = rng.permuted(np.tile(np.arange(12.0), (40, 1)), axis=1)
    labels = np.argsort(-scores, axis=1)
    for k in (1, 3, 5, 12):
        expected = ndcg_score(y_true, scores, k=k)
        assert metrics.ndcg_at_k(sp.csr_array(y_true), labels, k) == pytest.approx(expected)
        sets = [set(np.flatnonzero(row)) for row in y_true]
        hits = [len(true & set(top[:k])) for true, top in zip(sets, labels.tolist(), strict=True)]
        assert metrics.precision_at_k(y_true, labels, k) == pytest.approx(np.mean(hits) / k)
        recalls = [h / len(true) for h, true in zip(hits, sets, strict=True)]
        assert metrics.recall_at_k(y_true, labels, k) == pytest.approx(np.mean(recalls))


@pytest.mark.parametrize("seed", range(5))
def test_r_precision_is_precision_relative_to_the_best(seed):
    rng = np.random.default_rng(seed)
    y_true = (rng.random((40, 12)) < 0.15).astype(int)
    assert (y_true.sum(axis=1) == 0).any()
    labels = np.argsort(rng.random((40, 12)), axis=1)
    for k in (1, 3, 12):
        rows = [
            len(set(np.flatnonzero(row)) & set(top[:k])) / min(k, row.sum())
            for row, top in zip(y_true, labels.tolist(), strict=True)
            if row.any()
        ]
        assert metrics.r_precision_at_k(y_true, labels, k) == pytest.approx(np.mean(rows))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("average", ["micro", "macro"])
def test_f1_is_that_of_scikit_learn(seed, average):
    rng = np.random.default_rng(seed)
    y_true = (rng.random((40, 12)) < 0.2).astype(int)
    y_true[:, 3] = 0  # predicted, never true
    scores = rng.random((40, 12))
    scores[:, [5, 7]] = 0.0  # true, never predicted at the threshold
    y_true[:, 7] = 0  # neither
    of_matrix = getattr(metrics, f"f1_{average}")
    for threshold in (0.0, 0.5, 0.9, 2.0):
        y_pred = scores >= threshold
        expected = f1_score(y_true, y_pred, average=average, zero_division=0)
        for prediction in (y_pred, y_pred.astype(float), sp.csc_array(y_pred)):
            assert of_matrix(y_true, prediction) == pytest.approx(expected)
        assert of_matrix(sp.csr_array(y_true), y_pred) == pytest.approx(expected)
    labels = np.argsort(-scores, axis=1)
    labels[::4, 2:] = -1
    for k in (1, 3, 12):
        y_pred = np.zeros((40, 13), int)
        np.put_along_axis(y_pred, labels[:, :k], 1, axis=1)  # -1 is the last column
        expected = f1_score(y_true, y_pred[:, :12], average=average, zero_division=0)
        at_k = getattr(metrics, f"f1_{average}_at_k")
        assert at_k(y_true, labels, k) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("A", "B"), [(np.inf, 1.5), (np.nan, 1.5), (-1, 1.5), (0.5, -1), (0.5, np.inf), (1e300, 1.5)]
)
def test_constants_without_propensities_are_refused(A, B):
    with pytest.raises(ValueError, match="A must be|B must be|no propensities"):
        metrics.propensities([[1, 0, 0], [0, 1, 0]] * 9, A, B)


def test_equal_propensities_give_plain_measures():
    rng = np.random.default_rng(1)
    y_true = (rng.random((30, 9)) < 0.4).astype(int)
    labels = np.argsort(rng.random((30, 9)), axis=1)
    ones = np.ones(9)
    best = metrics.max_precision_at_k(y_true, 3)
    plain = metrics.precision_at_k(y_true, labels, 3) / best
    assert metrics.psp_at_k(y_true, labels, 3, ones) == pytest.approx(plain)


def test_empty_and_wrong_input():
    none = np.zeros((0, 4))
    assert metrics.precision_at_k(none, np.zeros((0, 3), int), 3) == 0.0
    assert metrics.psp_at_k(none, np.zeros((0, 3), int), 3, np.ones(4)) == 0.0
    assert metrics.r_precision_at_k(none, np.zeros((0, 3), int), 3) == 0.0
    assert metrics.r_precision_at_k(np.zeros((2, 4)), np.zeros((2, 3), int), 3) == 0.0
    for f1 in (metrics.f1_micro, metrics.f1_macro):
        assert f1(none, none) == f1(np.zeros((2, 4)), np.zeros((2, 4))) == 0.0
        with pytest.raises(ValueError, match=r"the shape \(3, 5\) of y_true, got \(3, 4\)"):
            f1(Y, Y[:, :4])
    with pytest.raises(ValueError, match="fewer than k = 5"):
        metrics.f1_micro_at_k(Y, LABELS, 5)
    with pytest.raises(ValueError, match="fewer than k = 5"):
        metrics.precision_at_k(Y, LABELS, 5)
    with pytest.raises(ValueError, match="must have 3 rows"):
        metrics.precision_at_k(Y, LABELS[:2], 1)
    with pytest.raises(ValueError, match="must lie in"):
        metrics.precision_at_k(Y, LABELS + 4, 1)
    with pytest.raises(ValueError, match="k must be"):
        metrics.precision_at_k(Y, LABELS, 0)


def test_excluded_labels_are_taken_out_of_the_ranking_first():
    rng = np.random.default_rng(3)
    truth = rng.random((30, 9)) < 0.3
    out = (rng.random((30, 9)) < 0.3) & (rng.random((30, 1)) < 0.8)
    ranked = np.argsort(rng.random((30, 9)), axis=1)
    left = [[label for label in row if not out[i, label]] for i, row in enumerate(ranked)]
    left = np.asarray([row + [-1] * (9 - len(row)) for row in left])
    exclude = sp.csr_array(out.astype(int))
    propensity = rng.random(9) + 0.1
    for k in (1, 3, 5):
        for metric in (
            metrics.precision_at_k, metrics.recall_at_k, metrics.r_precision_at_k,
            metrics.ndcg_at_k, metrics.coverage_at_k, metrics.f1_micro_at_k, metrics.f1_macro_at_k,
        ):  # fmt: skip
            assert metric(truth, ranked, k, exclude=exclude) == metric(truth, left, k)
        for metric in (metrics.psp_at_k, metrics.psndcg_at_k):
            found = metric(truth, ranked, k, propensity, exclude=np.argwhere(out))
            assert found == metric(truth, left, k, propensity)


def test_found_by_count_counts_each_true_label_once():
    rng = np.random.default_rng(3)
    truth, counts = (rng.random((50, 30)) < 0.2).astype(int), rng.integers(0, 15, 30)
    labels = np.argsort(rng.random((50, 30)), axis=1)[:, :6]
    labels[3, 4:] = -1
    found = metrics.found_by_count(truth, labels, counts, k=5)
    classes = [[0], [1], [2, 3], range(4, 11), range(11, 15)]
    for of_class, n, hits in zip(classes, *found, strict=True):
        mine = np.isin(counts, of_class)
        assert n == truth[:, mine].sum()
        pairs = {(i, label) for i, row in enumerate(labels[:, :5]) for label in row if label >= 0}
        assert hits == sum(truth[i, label] and mine[label] for i, label in pairs)
    with pytest.raises(ValueError, match=r"counts must have shape \(30,\)"):
        metrics.found_by_count(truth, labels, counts[:9], k=5)
