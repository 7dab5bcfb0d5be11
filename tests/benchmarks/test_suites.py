"""Every benchmark's setup and body run; unavailable backends are left out, not failed."""

import inspect
import itertools

import numpy as np
import pytest
from benchmarks.loading import SUITES, load
from oracle import neighbours

from swnn_xp.backends import BACKENDS

KINDS = ("time_", "timeraw_", "peakmem_", "track_")


def benchmark_classes(module):
    return [
        item
        for _, item in inspect.getmembers(module, inspect.isclass)
        if item.__module__ == module.__name__ and benchmarks_of(item)
    ]


def benchmarks_of(item):
    return [name for name in dir(item) if name.startswith(KINDS)]


def combinations(item):
    params = getattr(item, "params", ())
    return list(itertools.product(*params))


@pytest.fixture
def in_cache(tiny_cache, monkeypatch):
    monkeypatch.chdir(tiny_cache)
    common = load("common")
    many = common.many_queries
    monkeypatch.setattr(common, "many_queries", lambda n: many(n // 64))


@pytest.mark.parametrize("suite", SUITES)
def test_every_benchmark_runs_on_tiny_data(in_cache, suite):
    classes = benchmark_classes(load(suite))
    assert classes
    for item in classes:
        ran = 0
        for params in combinations(item):
            benchmark = item()
            try:
                getattr(benchmark, "setup", lambda *_: None)(*params)
                for name in benchmarks_of(item):
                    outcome = getattr(benchmark, name)(*params)
                    assert not name.startswith("track_") or np.isfinite(outcome)
            except NotImplementedError:  # shown as n/a
                continue
            ran += 1
        assert ran, f"{item.__name__} is left out for all parameters"


@pytest.mark.parametrize(
    ("suite", "name", "batch"),
    [
        ("searching", "Searching", 1),
        ("building", "Building", 1),
        ("answering", "Latency", 1),
        ("answering", "Throughput", 256),
        ("answering", "Batches", 256),
        ("stages", "Stages", 256),
        ("quality", "Agreement", 1),
        ("ranking", "RankedLatency", 1),
        ("ranking", "RankedThroughput", 256),
        ("ranking", "RankedBatches", 256),
        ("ranking", "Neighbours", 256),
    ],
)
def test_the_legend_has_the_backends_that_get_a_figure(in_cache, suite, name, batch):
    item = getattr(load(suite), name)
    assert item.param_names[0] == "backend"
    usable = [each for each in BACKENDS.values() if each.unusable() is None]
    wanted = [each.name for each in usable if not (each.reference and batch > 1)]
    if load("common").is_emulated():
        wanted.remove("cupy")
    assert list(item.params[0]) == wanted
    for backend in wanted:
        item().setup(backend, *(values[0] for values in item.params[1:]))


def test_an_unavailable_backend_is_left_out(in_cache, monkeypatch):
    monkeypatch.setattr(type(BACKENDS["numpy"]), "unusable", lambda self: "needs something")
    with pytest.raises(NotImplementedError, match="needs something"):
        load("searching").Searching().setup("numpy", 25, 1.0, 1)


def test_the_reference_of_the_benchmarks_is_the_method(in_cache):
    train, test = load("data").load("X_train").toarray(), load("common").queries(2).toarray()
    for query, ids, sims in zip(
        test, np.load("reference_ids.npy"), np.load("reference_sims.npy"), strict=False
    ):
        found = neighbours(train, query, len(ids), 1)
        assert found == list(zip(sims.tolist(), ids.tolist(), strict=True))


def test_agreement_notices_a_wrong_answer(in_cache, monkeypatch):
    suite = load("quality").Agreement()
    suite.setup("numpy")
    assert suite.track_agreement("numpy") == 1.0
    found = suite.clf.kneighbors

    def wrong(rows):
        sims, ids = found(rows)
        return np.nextafter(sims, 1.0), ids

    monkeypatch.setattr(suite.clf, "kneighbors", wrong)
    assert suite.track_agreement("numpy") == 0.0


def test_data_is_the_same_every_time():
    data = load("data")
    first, second = data.make(50, 5, 100, 10), data.make(50, 5, 100, 10)
    for a, b in zip(first, second, strict=True):
        assert (a != b).nnz == 0
