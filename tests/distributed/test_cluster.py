"""Connecting to a cluster."""

import contextlib
import socket

import pytest

from swnn_xp.backends import BACKENDS
from swnn_xp.cli.main import main
from swnn_xp.distributed import cluster, connect


def test_two_clusters_on_one_machine():
    """The port that Dask's scheduler prefers is taken: no warning (an error here), no failure."""
    with socket.socket() as other:
        with contextlib.suppress(OSError):  # somebody else has it already, which is as good
            other.bind(("", 8787))
            other.listen()
        with connect("local:1") as client:
            assert client.submit(abs, -1).result() == 1


def test_a_local_cluster_is_not_open_to_others():
    with connect("local:1") as client:
        assert client.scheduler.address.startswith("tcp://127.0.0.1:")
        assert client.cluster.scheduler.http_server._sockets
        for listener in client.cluster.scheduler.http_server._sockets.values():
            assert listener.getsockname()[0] == "127.0.0.1"


def test_a_scheduler_by_its_address(client):
    with connect(client.scheduler.address) as again:
        assert again.scheduler_info()["workers"].keys() == client.scheduler_info()["workers"].keys()


@pytest.mark.parametrize("where", ["here", "local:0", "local:x", "gpus:0", "localhost:8786"])
def test_no_such_cluster(where):
    with pytest.raises(ValueError, match="cluster must be 'local'"), connect(where):
        pass


def test_local_means_the_cores_that_this_process_may_use(monkeypatch):
    """The same count as n_jobs=-1."""
    started = []
    monkeypatch.setattr(cluster, "check_threads", lambda n_jobs: {-1: 7}[n_jobs])
    monkeypatch.setattr(cluster, "LocalCluster", lambda **options: started.append(options))
    for where in ("local", "local:3"):
        cluster._started(*cluster._parts(where))
    assert [options["n_workers"] for options in started] == [7, 3]


def test_gpus_need_a_gpu(monkeypatch):
    monkeypatch.setattr(type(BACKENDS["cupy"]), "unusable", lambda self: "finds none")
    wanted = "cluster 'gpus': backend 'cupy' finds none"
    with pytest.raises(ValueError, match=wanted), connect("gpus"):
        pass


def test_gpus_need_a_backend_that_uses_them(capsys, tmp_path):
    for command in (["fit", "x", "--learn", "ranking"], ["predict", "m", "x"]):
        assert main([*command, "-o", str(tmp_path / "out"), "--cluster", "gpus:2"]) == 2
        assert "--cluster gpus:2 goes with --backend cupy" in capsys.readouterr().err
