"""However the rows are spread, the answer is that of a single machine, to the bit."""

import dask
import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, write_xmc
from swnn_xp.backends import BACKENDS
from swnn_xp.distributed import ShardedClassifier, sharded
from swnn_xp.distributed.sharded import search_shard

from .conftest import S

PARAMS = {"n_neighbors": S, "alpha": 1, "beta": 1}


def check(clf, single, X, k=5):
    found = dask.compute(*clf.kneighbors(X), *clf.predict_topk(X, k))
    expected = (*single.kneighbors(X), *single.predict_topk(X, k))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_the_problem_has_ties_across_shards(single, problem):
    found = single.kneighbors(problem[0][:100], S + 1)
    assert (found.similarities[:, S - 1] == found.similarities[:, S]).mean() > 0.5


@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_matrices(client, problem, single, n_shards, monkeypatch):
    monkeypatch.setattr(sharded, "BLOCK", 70)
    clf = ShardedClassifier.from_matrices(client, *problem, n_shards=n_shards, **PARAMS)
    assert len(clf.recipes) == n_shards
    check(clf, single, problem[0][:200])


def test_one_shard_for_each_worker_is_the_default(client, problem, single):
    clf = ShardedClassifier.from_matrices(client, *problem, **PARAMS)
    assert len(clf.recipes) == 2


@pytest.mark.parametrize("alpha_beta", [(0, 0), (2, 1), (0.5, 1.5)])
def test_other_parameters(client, problem, alpha_beta):
    alpha, beta = alpha_beta
    params = {"n_neighbors": 7, "alpha": alpha, "beta": beta, "backend": "numpy"}
    clf = ShardedClassifier.from_matrices(client, *problem, n_shards=3, **params)
    check(clf, SWNNClassifier(**params).fit(*problem), problem[0][:50], k=31)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_may_be_the_shards(client, problem, single, tmp_path, backend):
    """Built on the workers, sent from one to another, saved, and opened again."""
    if reason := BACKENDS[backend].unusable():
        pytest.skip(f"left out: {backend} {reason}")
    X = problem[0][:50]
    made = ShardedClassifier.from_matrices(
        client, *problem, n_shards=3, **PARAMS, backend=backend
    ).wait()
    check(made, single, X)
    client.replicate(made._shards)
    check(made, single, X)
    made.save(tmp_path / "model")
    check(ShardedClassifier.load(client, tmp_path / "model", backend=backend), single, X)


@pytest.mark.parametrize("n_shards", [1, 3])
def test_more_neighbours_than_rows(client, n_shards):
    X, Y = np.eye(5, 4) + 1, np.eye(5)
    params = {"n_neighbors": 10**12}
    clf = ShardedClassifier.from_matrices(client, X, Y, n_shards=n_shards, **params)
    assert clf.n_samples_fit_ == 5
    single = SWNNClassifier(**params).fit(X, Y)
    best = dask.compute(*clf.predict_topk(X, 3))
    for one, other in zip(best, single.predict_topk(X, 3), strict=True):
        np.testing.assert_array_equal(one, other)
    found = dask.compute(*clf.kneighbors(X, 9))
    for one, other in zip(found, single.kneighbors(X, 9), strict=True):
        np.testing.assert_array_equal(one, other)
    for wrong in (2.9, 0, True, "3"):
        with pytest.raises(ValueError, match="n_neighbors must be a whole number"):
            clf.kneighbors(X, wrong)


@pytest.mark.parametrize("n_shards", [1, 3])
def test_all_parameters_count_when_a_query_is_sent(client, problem, n_shards):
    """Tasks are given them: none is baked into a shard."""
    clf = ShardedClassifier.from_matrices(client, *problem, n_shards=n_shards, **PARAMS)
    assert not hasattr(clf, "clf"), "the parameters are no public attribute"
    other = {"n_neighbors": 7, "alpha": 2.0, "beta": 0.0}
    clf._clf.set_params(**other)
    check(clf, SWNNClassifier(**other).fit(*problem), problem[0][:40])


def test_few_rows_empty_rows_and_an_empty_batch(client):
    X, Y = [[1, 0, 0], [0, 0, 0], [0, 1, 1]], [[1, 0], [0, 1], [0, 0]]
    clf = ShardedClassifier.from_matrices(client, X, Y, n_shards=9)
    assert len(clf.recipes) == 3
    single = SWNNClassifier().fit(X, Y)
    check(clf, single, sp.csr_array([[0, 0, 0], [1, 1, 0]]))
    check(clf, single, sp.csr_array((0, 3)))


@pytest.mark.parametrize("suffix", ["txt", "txt.gz"])
def test_a_file_cut_by_rows(client, problem, single, tmp_path, suffix):
    path = tmp_path / f"train.{suffix}"
    write_xmc(path, *problem)
    clf = ShardedClassifier.from_files(client, path, n_shards=3, **PARAMS)
    assert [recipe.first for recipe in clf.recipes] == [0, 400, 800]
    check(clf, single, problem[0][:100])


def test_part_files(client, problem, single, tmp_path):
    X, Y = problem
    bounds = [0, 100, 100, 700, 1201]
    paths = [tmp_path / f"part{i}.txt" for i in range(4)]
    for path, start, stop in zip(paths, bounds, bounds[1:], strict=False):
        write_xmc(path, X[start:stop], Y[start:stop])
    clf = ShardedClassifier.from_files(client, paths, n_shards=2, **PARAMS)
    assert [recipe.n_rows for recipe in clf.recipes] == [100, 1101]
    check(clf, single, X[:100])


def test_a_folder_of_shards(client, problem, single, tmp_path):
    made = ShardedClassifier.from_matrices(client, *problem, n_shards=3, **PARAMS)
    made.save(tmp_path / "model")
    clf = ShardedClassifier.load(client, tmp_path / "model")
    assert clf._clf.n_neighbors == S
    check(clf, single, problem[0][:100])


def test_a_single_model_with_removed_rows(client, problem, tmp_path):
    single = SWNNClassifier(**PARAMS).fit(*problem).remove(np.arange(0, 900, 3))
    single.save(tmp_path / "model")
    check(ShardedClassifier.load(client, tmp_path / "model"), single, problem[0][:100])


def test_a_shard_that_travels_stays_the_same(client, problem, single):
    clf = ShardedClassifier.from_matrices(client, *problem, n_shards=2, **PARAMS).wait()
    everywhere = sorted(client.scheduler_info()["workers"])
    client.replicate(clf._shards)
    assert all(len(who) == 2 for who in client.who_has(clf._shards).values())
    X = problem[0][:30]
    for shard in clf._shards:
        there = [
            client.submit(search_shard, shard, X, S, 1.0, workers=[worker], pure=False)
            for worker in everywhere
        ]
        one, other = client.gather(there)
        np.testing.assert_array_equal(one.ids, other.ids)
        np.testing.assert_array_equal(one.similarities, other.similarities)


def test_more_neighbours_than_can_vote_are_refused(client, problem, monkeypatch):
    # Four million rows take too long for a test: the limit is lowered instead.
    monkeypatch.setattr("swnn_kernels.records.MAX_VOTERS", 3)
    clf = ShardedClassifier.from_matrices(client, *problem, n_shards=2, n_neighbors=10)
    with pytest.raises(ValueError, match="10 neighbours would vote"):
        clf.predict_topk(problem[0][:5])
    assert clf.kneighbors(problem[0][:5]).ids.compute().shape == (5, 10)  # they do not vote


def test_amodel__is_spread_as_it_was_though_a_label_arrives(client, problem, monkeypatch):
    X, Y = problem[0], problem[1].toarray()
    clf = SWNNClassifier(n_neighbors=S).fit(X[:100], Y[:100])
    looks, look = [], SWNNClassifier.model_.fget

    def changing(self):
        model = look(self)
        if not looks:
            looks.append(model)
            clf.partial_fit(X[[0]], np.eye(1, 31, 30, dtype=int))
        return model

    monkeypatch.setattr(SWNNClassifier, "model_", property(changing))
    made = ShardedClassifier.from_fitted(client, clf, n_shards=2)
    assert (made.n_samples_fit_, made.n_labels_) == (100, 30)
    assert clf.n_labels_ == 31
