"""Training on a cluster: the model of a single machine, to the last byte."""

import json
import os
import signal

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import LearnedWeights, SWNNRanker, write_xmc
from swnn_xp.cli.main import main
from swnn_xp.distributed import fit_on_cluster, train_on_cluster, training
from swnn_xp.learn import label_models as descent
from swnn_xp.learn.label_models import remote_trainer

PARAMS = {"n_neighbors": 20, "n_candidates": 8}


@pytest.fixture(scope="module")
def learnable(problem):
    X, _ = problem
    rng = np.random.default_rng(3)
    return X, sp.csr_array((X @ (rng.random((40, 30)) < 0.1) >= 2).astype(np.int8))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Many blocks of queries and many runs of labels."""
    monkeypatch.setattr(training, "BLOCK", 500)
    monkeypatch.setattr(descent, "_CHUNK", 1500)


def saved_bytes(folder):
    """Every file and all of the manifest except the folder's random name and what follows it."""
    manifest = json.loads((folder / "manifest.json").read_text())
    data = folder / manifest.pop("data")
    manifest.pop("sha256")
    assert len(list(data.iterdir())) > 10
    return {path.name: path.read_bytes() for path in data.iterdir()}, manifest


@pytest.mark.parametrize(
    "params", [PARAMS, PARAMS | {"search": 200}, {"n_neighbors": 7, "learn_weights": False}]
)
def test_a_ranker_has_the_same_bytes(client, learnable, tmp_path, params):
    SWNNRanker(**params).fit(*learnable).save(tmp_path / "here")
    fit_on_cluster(SWNNRanker(**params), *learnable, cluster=client).save(tmp_path / "there")
    assert saved_bytes(tmp_path / "there") == saved_bytes(tmp_path / "here")
    assert remote_trainer() is None


def test_names_of_labels_are_found_on_a_cluster(client, learnable, tmp_path):
    X, Y = learnable
    names = (np.random.default_rng(4).random((Y.shape[1], X.shape[1])) < 0.05).astype(int)
    here = SWNNRanker(**PARAMS).fit(X, Y, label_features=names)
    there = fit_on_cluster(SWNNRanker(**PARAMS), X, Y, cluster=client, label_features=names)
    here.save(tmp_path / "here")
    there.save(tmp_path / "there")
    assert saved_bytes(tmp_path / "there") == saved_bytes(tmp_path / "here")


def test_weights_are_the_same(client, learnable):
    here = LearnedWeights(n_neighbors=20).fit(*learnable)
    there = fit_on_cluster(LearnedWeights(n_neighbors=20), *learnable, cluster=client)
    np.testing.assert_array_equal(there.feature_weights_, here.feature_weights_)


def test_workers_do_the_work(client, learnable, monkeypatch):
    """Neither the searches nor the descent run in this process."""
    from swnn_xp.learn import train as prepare

    def here(*args):
        raise AssertionError("this process should not do that")

    monkeypatch.setattr(prepare, "host_search", here)
    monkeypatch.setattr(descent, "_train_chunk", here)
    fit_on_cluster(SWNNRanker(**PARAMS), *learnable, cluster=client)
    with pytest.raises(AssertionError, match="should not"):
        SWNNRanker(**PARAMS).fit(*learnable)


def test_a_worker_that_dies_costs_only_time(client, learnable, tmp_path, monkeypatch):
    SWNNRanker(**PARAMS).fit(*learnable).save(tmp_path / "here")
    client.wait_for_workers(2)
    pid = next(iter(client.run(os.getpid).values()))
    seen = []

    def kill_once(task, *args):
        if task is training.train_task and not seen:
            seen.append(pid)
            os.kill(pid, signal.SIGKILL)

    submit = training.submit
    monkeypatch.setattr(
        training, "submit", lambda c, task, *a: (submit(c, task, *a), kill_once(task))[0]
    )
    clf = fit_on_cluster(SWNNRanker(**PARAMS), *learnable, cluster=client)
    assert seen
    clf.save(tmp_path / "there")
    assert saved_bytes(tmp_path / "there") == saved_bytes(tmp_path / "here")


@pytest.mark.parametrize("kind", ["ranking", "weights"])
def test_the_command(learnable, tmp_path, kind):
    write_xmc(tmp_path / "train.txt", *learnable)
    arguments = ["fit", str(tmp_path / "train.txt"), "--learn", kind, "-S", "20", "-o"]
    assert main([*arguments, str(tmp_path / "here")]) == 0
    assert main([*arguments, str(tmp_path / "there"), "--cluster", "local:1"]) == 0
    assert saved_bytes(tmp_path / "there") == saved_bytes(tmp_path / "here")


def test_a_cluster_without_learning_is_refused(learnable, tmp_path, capsys):
    write_xmc(tmp_path / "train.txt", *learnable)
    arguments = ["fit", str(tmp_path / "train.txt"), "-o", str(tmp_path / "model")]
    assert main([*arguments, "--cluster", "local:1"]) == 2
    assert "--cluster needs --learn" in capsys.readouterr().err


def test_help_ends_with_the_block(client):
    with train_on_cluster(client) as same_client:
        assert same_client is client
        assert remote_trainer() is not None
    assert remote_trainer() is None
