"""Label models are the minimum of what the descent says it minimises, whatever the threads."""

import time

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from swnn_kernels.learn import descent as kernels
from swnn_kernels.learn.descent import MISSED, Pairs, Problem
from swnn_xp.learn import label_models as descent
from swnn_xp.learn.label_models import LabelModels, train_labels
from swnn_xp.rows.canonical import canonical_rows, quantise_rows

N, D, L = 90, 14, 5
RNG = np.random.default_rng(3)
ROWS = quantise_rows(canonical_rows((RNG.random((N, D)) < 0.3) * RNG.normal(size=(N, D))))
DENSE = np.zeros((N, D))
DENSE[np.repeat(np.arange(N), np.diff(ROWS.indptr)), ROWS.indices] = ROWS.quantised / 2.0**23


# Few rows share a feature: what a row adds to its weights and takes back is not added to again.
SPARSE = quantise_rows(canonical_rows((RNG.random((N, 300)) < 0.03) * RNG.random((N, 300))))


def problem(costs, *, missed=0.4, missed_bias=1.0, tight=True, dropped=0.0):
    tolerance, passes = (1e-11, 200_000) if tight else (0.2, 20)
    return Problem(np.asarray(costs), missed, missed_bias, tolerance, passes, 7, dropped)


def random_pairs(seed, offset=1.0, missed=False):
    """Pairs of each label with a random part of the rows."""
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.choice(N, rng.integers(20, N), replace=False)) for _ in range(L)]
    size = sum(map(len, rows))
    signs = np.where(rng.random(size) < 0.3, 1, -1).astype(np.int8)
    if missed:
        signs[(signs > 0) & (rng.random(size) < 0.4)] = MISSED
    return Pairs(
        np.cumsum([0, *map(len, rows)]),
        np.concatenate(rows).astype(np.int32),
        (offset * rng.normal(size=size)).astype(np.float32),
        signs,
    )


def own(pairs, label):
    """The pairs of one label alone."""
    span = slice(pairs.indptr[label], pairs.indptr[label + 1])
    return Pairs(np.asarray([0, span.stop - span.start]), *(part[span] for part in pairs[1:]))


def dense_weights(models: LabelModels, label, width=D):
    span = slice(models.indptr[label], models.indptr[label + 1])
    weights = np.zeros(width)
    weights[models.features[span]] = models.weights[span]
    return weights


def newton(X, signs, offsets, costs, bias=None):
    """Minimum of the regularised squared hinge with a bias column, by damped Newton steps."""
    X = np.hstack([X, (np.ones(len(X)) if bias is None else bias)[:, None]])

    def loss(w):
        return w @ w / 2 + costs @ np.maximum(0, 1 - signs * (X @ w + offsets)) ** 2

    w = np.zeros(X.shape[1])
    for _ in range(200):
        slack = np.maximum(0, 1 - signs * (X @ w + offsets))
        gradient = w - 2 * X.T @ (costs * slack * signs)
        inside = X[slack > 0]
        hessian = np.eye(w.size) + 2 * (inside.T * costs[slack > 0]) @ inside
        step, size = np.linalg.solve(hessian, gradient), 1.0
        while loss(w - size * step) > loss(w) and size > 1e-9:
            size /= 2
        w = w - size * step
        if np.abs(gradient).max() < 1e-12:
            break
    return w


def test_without_offsets_it_is_liblinear():
    pairs, costs = random_pairs(1, offset=0.0), [0.1, 0.7, 3.0, 1.0, 0.3]
    found = train_labels(ROWS, pairs, problem(costs))
    for label in range(L):
        _, rows, _, signs = own(pairs, label)
        peer = LinearSVC(
            C=costs[label], loss="squared_hinge", dual=True, tol=1e-11, max_iter=10**6,
            intercept_scaling=1.0, random_state=0,
        ).fit(DENSE[rows], signs)  # fmt: skip
        np.testing.assert_allclose(dense_weights(found, label), peer.coef_[0], atol=1e-6)
        np.testing.assert_allclose(found.biases[label], peer.intercept_[0], atol=1e-6)


@pytest.mark.parametrize("missed_bias", [1.0, 0.3, 0.0])
def test_with_offsets_and_missed_positives_it_is_the_minimum(missed_bias):
    pairs, costs = random_pairs(2, missed=True), [0.1, 0.7, 3.0, 1.0, 0.3]
    assert (pairs.signs == MISSED).any()
    found = train_labels(ROWS, pairs, problem(costs, missed=0.4, missed_bias=missed_bias))
    for label in range(L):
        _, rows, offsets, signs = own(pairs, label)
        each = np.where(signs == MISSED, 0.4, 1.0) * costs[label]
        bias = np.where(signs == MISSED, missed_bias, 1.0)
        expected = newton(DENSE[rows], np.where(signs > 0, 1.0, -1.0), offsets, each, bias)
        np.testing.assert_allclose(dense_weights(found, label), expected[:-1], atol=1e-6)
        np.testing.assert_allclose(found.biases[label], expected[-1], atol=1e-6)


def test_a_label_that_all_its_rows_missed_gets_a_model_only_if_they_move_its_bias():
    pairs, asked = random_pairs(5), problem([0.4] * L, missed_bias=0.4)
    signs = np.where(pairs.signs > 0, MISSED, -1).astype(np.int8)
    more = train_labels(ROWS, pairs._replace(signs=signs), problem([0.4] * L, missed_bias=0.5))
    assert more.modelled.all()
    found = train_labels(ROWS, pairs._replace(signs=signs), asked)
    assert not found.modelled.any()
    assert found.features.size == 0
    signs[pairs.indptr[:-1]] = 1
    assert train_labels(ROWS, pairs._replace(signs=signs), asked).modelled.all()


def equal(one: LabelModels, other: LabelModels):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("chunk", [1, 60, 10**6])
def test_threads_and_chunks_do_not_change_a_bit(monkeypatch, n_jobs, chunk, tight):
    pairs, asked = random_pairs(3, missed=True), problem([0.4] * L, tight=tight)
    one = train_labels(ROWS, pairs, asked)
    monkeypatch.setattr(descent, "_CHUNK", chunk)
    monkeypatch.setattr(descent, "_ROOM", 0)  # a chunk is copied after every other label
    assert equal(one, train_labels(ROWS, pairs, asked, n_jobs))


def test_a_label_alone_is_trained_as_among_others():
    """A regression: rounding errors of one label's weights were left to the next label."""
    pairs = random_pairs(4)
    together = train_labels(SPARSE, pairs, problem([3.0] * L))
    squares = 0
    for label in range(L):
        others = own(pairs, label)
        only = np.where(np.arange(L + 1) <= label, 0, others.indptr[1])  # the seed has the label
        alone = train_labels(SPARSE, others._replace(indptr=only), problem([3.0] * L))
        mine, its = (dense_weights(models, label, 300) for models in (alone, together))
        assert np.array_equal(mine, its)
        assert alone.biases[label] == together.biases[label]
        squares = squares + alone.squares
    assert np.array_equal(squares, together.squares)


def test_weights_are_zeros_again_after_each_label():
    pairs, rows = random_pairs(5), descent.prepare_rows(SPARSE, left_out=np.arange(0, N, 3))
    most = int(np.diff(pairs.indptr).max())
    buffers = kernels.Buffers(
        np.zeros(300), np.empty(most), np.empty(most, np.int64), np.empty(most, np.uint8),
        np.zeros(300, np.int64),
    )  # fmt: skip
    models = kernels.Models(
        np.empty(600, np.int32), np.empty(600, np.float32), np.zeros(L, np.int64), np.zeros(L),
        np.empty(N, np.float32),
    )  # fmt: skip
    for label in range(L):
        kernels.descend(rows, pairs, problem([3.0] * L), buffers, models, label, label + 1)
        assert not buffers.weights.any()


def test_small_weights_are_dropped_but_counted():
    pairs = random_pairs(6)
    kept = train_labels(ROWS, pairs, problem([0.4] * L))
    fewer = train_labels(ROWS, pairs, problem([0.4] * L, dropped=0.2))
    assert 0 < fewer.weights.size == (np.abs(kept.weights) > 0.2).sum() < kept.weights.size
    assert np.array_equal(kept.squares, fewer.squares)
    assert np.array_equal(kept.biases, fewer.biases)


def test_labels_without_a_positive_have_no_model():
    pairs = random_pairs(7)
    signs = pairs.signs.copy()
    signs[pairs.indptr[1] : pairs.indptr[2]] = -1
    found = train_labels(ROWS, pairs._replace(signs=signs), problem([0.4] * L))
    assert found.modelled.tolist() == [1, 0, 1, 1, 1]
    assert found.biases[1] == 0
    assert found.indptr[1] == found.indptr[2]


def test_no_pairs_and_no_labels():
    none = Pairs(np.zeros(4, np.int64), *(part[:0] for part in random_pairs(8)[1:]))
    found = train_labels(ROWS, none, problem([0.4] * 3))
    assert found.modelled.tolist() == [0, 0, 0]
    found = train_labels(ROWS, none._replace(indptr=np.zeros(1, np.int64)), problem([]))
    assert found.modelled.size == found.weights.size == 0


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_what_stops_training_stops_it_soon(monkeypatch, n_jobs):
    """A regression: labels that were waiting for a thread were all trained before the error."""
    monkeypatch.setattr(descent, "_CHUNK", 1)
    trained = []
    real = descent._train_chunk

    def train_slowly(*args):
        trained.append(args[3])
        time.sleep(0.02)  # without it a thread may train all 200 before the first error
        return real(*args)

    monkeypatch.setattr(descent, "_train_chunk", train_slowly)
    pairs = random_pairs(9)
    many = pairs._replace(indptr=np.linspace(0, pairs.rows.size, 201).astype(np.int64))

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_labels(ROWS, many, problem([0.4] * 200), n_jobs, stop)
    assert len(trained) < 100


def test_scaled_features_are_penalised_less_and_weights_are_those_of_plain_features():
    pairs, scales = random_pairs(8), np.random.default_rng(8).uniform(0.2, 3.0, D)
    found = train_labels(ROWS, pairs, problem([0.4] * L), scales=scales)
    prepared = descent.prepare_rows(ROWS, scales)
    assert prepared.norms[prepared.norms > 0].mean() == pytest.approx(1.0)
    assert np.allclose(prepared.scales / scales, prepared.scales[0] / scales[0])
    for label in range(L):
        alone = own(pairs, label)
        X = DENSE[alone.rows] * prepared.scales
        right = newton(X, np.sign(alone.signs), alone.offsets, np.full(alone.rows.size, 0.4))
        assert np.allclose(dense_weights(found, label), right[:-1] * prepared.scales, atol=1e-5)


def test_a_factor_common_to_all_scales_changes_nothing():
    pairs, asked = random_pairs(9), problem([0.4] * L, tight=False)
    scales = np.random.default_rng(9).uniform(0.2, 3.0, D)
    one, other = (train_labels(ROWS, pairs, asked, scales=s) for s in (scales, 4 * scales))
    assert equal(one, other)
