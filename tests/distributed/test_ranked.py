"""Learned models on a cluster: shards are searched, their neighbours merged and ranked once."""

import dask
import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import LearnedWeights, SWNNClassifier, SWNNRanker, write_xmc
from swnn_xp.backends import BACKENDS
from swnn_xp.cli.main import main
from swnn_xp.distributed import OutputOptions, ShardedClassifier, predict_on_cluster

PARAMS = {"n_neighbors": 20, "n_candidates": 8}
NAMES = [f"label {i}" for i in range(30)]


@pytest.fixture(scope="session")
def learnable(problem):
    """The rows of the other tests, with labels that depend on their features."""
    X, _ = problem
    rng = np.random.default_rng(3)
    Y = sp.csr_array((X @ (rng.random((40, 30)) < 0.1) >= 2).astype(np.int8))
    return X, Y


@pytest.fixture(scope="session")
def ranked(learnable):
    return SWNNRanker(**PARAMS).fit(*learnable, label_names=NAMES)


@pytest.fixture(scope="session")
def ranked_by_default(learnable):
    return SWNNRanker().fit(*learnable, label_names=NAMES)


@pytest.fixture(scope="session")
def by_name(learnable):
    words = (np.random.default_rng(4).random((32, 40)) < 0.05).astype(int)
    clf = SWNNRanker(**PARAMS).fit(*learnable, label_names=NAMES, label_features=words[:30])
    return clf.add_labels(["new", "newer"], label_features=words[30:])


@pytest.fixture(scope="session")
def capped(learnable):
    return SWNNRanker(**PARAMS, search=300).fit(*learnable, label_names=NAMES)


@pytest.fixture(scope="session")
def weighted(learnable):
    weights = LearnedWeights(n_neighbors=20).fit(*learnable).feature_weights_
    return SWNNClassifier(n_neighbors=20).fit(*learnable, feature_weights=weights)


def check(clf, single, X, k=5):
    found = dask.compute(*clf.kneighbors(X, 9), *clf.predict_topk(X, k))
    for one, other in zip(
        found, (*single.kneighbors(X, 9), *single.predict_topk(X, k)), strict=True
    ):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["ranked", "ranked_by_default", "by_name", "capped", "weighted"])
@pytest.mark.parametrize("n_shards", [1, 3])
def test_shards_of_a_fitted_model(client, learnable, request, tmp_path, kind, n_shards):
    single, X = request.getfixturevalue(kind), learnable[0][:100]
    clf = ShardedClassifier.from_fitted(client, single, n_shards=n_shards).wait()
    assert len(clf.recipes) == n_shards
    check(clf, single, X)
    clf.save(tmp_path / "shards")
    check(ShardedClassifier.load(client, tmp_path / "shards"), single, X)
    clf.save(tmp_path / "shards")  # replaces what is there


@pytest.mark.parametrize("kind", ["ranked", "ranked_by_default", "by_name", "weighted"])
def test_a_saved_model_is_opened_by_every_worker(client, learnable, request, tmp_path, kind):
    single = request.getfixturevalue(kind)
    single.save(tmp_path / "model")
    check(ShardedClassifier.load(client, tmp_path / "model"), single, learnable[0][:100])


def test_removed_rows_and_new_labels(client, learnable):
    X, Y = learnable
    single = SWNNRanker(**PARAMS).fit(X[:1000], Y[:1000, :28])
    single.partial_fit(X[1000:], Y[1000:]).remove(np.arange(0, 1200, 5))
    clf = ShardedClassifier.from_fitted(client, single, n_shards=2)
    best = dask.compute(*clf.predict_topk(X[:100], 6))
    for one, other in zip(best, single.predict_topk(X[:100], 6), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "numba"])
def test_every_backend_may_rank(client, learnable, ranked, tmp_path, backend):
    if reason := BACKENDS[backend].unusable():
        pytest.skip(f"left out: {backend} {reason}")
    X = learnable[0][:40]
    made = ShardedClassifier.from_fitted(client, ranked, n_shards=2, backend=backend)
    check(made, ranked, X)
    made.save(tmp_path / "shards")
    check(ShardedClassifier.load(client, tmp_path / "shards", backend=backend), ranked, X)


def test_predict_writes_what_one_machine_writes(client, learnable, ranked, tmp_path):
    X, Y = learnable
    ranked.save(tmp_path / "model")
    made = ShardedClassifier.from_fitted(client, ranked, n_shards=3)
    made.save(tmp_path / "shards", label_names=NAMES)
    write_xmc(tmp_path / "new.txt", X[:250], Y[:250])
    model, new, expected = (str(tmp_path / name) for name in ("model", "new.txt", "expected.tsv"))
    assert main(["predict", model, new, "-o", expected]) == 0
    header, body = (tmp_path / "expected.tsv").read_text().split("\n", 1)
    for folder in ("model", "shards"):
        out = tmp_path / f"out-{folder}"
        options = OutputOptions(rows_per_part=100)
        run = predict_on_cluster(tmp_path / folder, new, out, cluster=client, options=options)
        assert run == (250, 3, 0)
        parts = [part.read_text().split("\n", 1) for part in sorted(out.glob("part-*"))]
        assert {first for first, _ in parts} == {header}
        assert "".join(rest for _, rest in parts) == body


def test_what_a_ranker_was_not_trained_with_is_refused(client, ranked, tmp_path):
    ranked.save(tmp_path / "model")
    ShardedClassifier.from_fitted(client, ranked, n_shards=2).save(tmp_path / "shards")
    for folder in ("model", "shards"):
        with pytest.raises(ValueError, match="beta=0.5, but the ranker was trained with 1.0"):
            ShardedClassifier.load(client, tmp_path / folder, beta=0.5)


def test_another_ranker_is_another_job(client, learnable, ranked, tmp_path):
    X, Y = learnable
    write_xmc(tmp_path / "new.txt", X[:20], Y[:20])
    args = tmp_path / "shards", tmp_path / "new.txt", tmp_path / "out"
    ShardedClassifier.from_fitted(client, ranked, n_shards=2).save(tmp_path / "shards")
    assert predict_on_cluster(*args, cluster=client).skipped == 0
    other = SWNNRanker(**PARAMS, C=2.0, learn_weights=False).fit(X, Y)
    other.save(tmp_path / "shards" / "ranker")
    with pytest.raises(ValueError, match="has been replaced"):
        ShardedClassifier.load(client, tmp_path / "shards").wait()
    ShardedClassifier.from_fitted(client, other, n_shards=2).save(tmp_path / "shards")
    with pytest.raises(ValueError, match="holds parts of another job"):
        predict_on_cluster(*args, cluster=client)
