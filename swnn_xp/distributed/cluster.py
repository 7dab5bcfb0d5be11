"""Connect to a running cluster, or start one of processes on this machine."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from typing import Any

import dask
from distributed import Client, Future, LocalCluster

from swnn_xp.backends import BACKENDS
from swnn_xp.checks import check_threads

# A busy machine can take longer than Dask's 15 seconds to restart a worker, and than its 30 to
# answer; without this, Dask gives up the worker for good. When no worker is left, an error is
# better than waiting forever.
_PATIENCE = {
    "distributed.comm.timeouts.connect": "120s",
    "distributed.deploy.lost-worker-timeout": "120s",
    "distributed.scheduler.no-workers-timeout": "300s",
}

_GPU_THREADS = 2  # one prepares rows while the other's are on the device


@contextlib.contextmanager
def connect(cluster: str | Client = "local") -> Iterator[Client]:
    """Connect to a cluster for the duration of a ``with`` block.

    Parameters
    ----------
    cluster : str or Client
        ``"local"``: one process for each core that this process may use, stopped at the end;
        ``"local:4"``: four of them. ``"gpus"``: one process for each GPU, which sees no other;
        ``"gpus:4"``: for the first four. Anything with ``://`` is the address of a scheduler; a
        client is used as it is.

    Yields
    ------
    distributed.Client

    Examples
    --------
    >>> from swnn_xp.distributed import connect
    >>> with connect("local:1") as client:
    ...     client.submit(abs, -7).result()
    7
    """
    if isinstance(cluster, Client):
        yield cluster
    elif "://" in cluster:
        with Client(cluster) as client:
            yield client
    else:
        where, count = _parts(cluster)
        with dask.config.set(_PATIENCE), _started(where, count) as local, Client(local) as client:
            yield client


def _started(where: str, count: int | None) -> LocalCluster:
    """Start processes on this machine."""
    # A free port: None would still take 8787, which another cluster may have.
    options = {"processes": True, "dashboard_address": "127.0.0.1:0"}
    if where == "local":
        n_workers = count or check_threads(-1)
        return LocalCluster(n_workers=n_workers, threads_per_worker=1, **options)
    devices = _gpus()
    if count is not None and count > len(devices):
        raise ValueError(f"cluster 'gpus:{count}': there are {len(devices)}")
    started = _GpuCluster(n_workers=0, threads_per_worker=_GPU_THREADS, **options)
    started.devices = devices[:count]
    started.scale(len(started.devices))
    started.wait_for_workers(len(started.devices))
    return started


class _GpuCluster(LocalCluster):  # type: ignore[misc]  # Dask is not typed
    """A process for each GPU."""

    devices: list[str]

    def new_worker_spec(self) -> dict[Any, dict[str, Any]]:
        ((name, spec),) = super().new_worker_spec().items()
        # Before the process starts: CUDA reads it once. A worker that dies is started again so.
        env = {"CUDA_VISIBLE_DEVICES": self.devices[int(name)]}
        return {name: spec | {"options": spec["options"] | {"env": env}}}


def _gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    if reason := BACKENDS["cupy"].unusable():
        raise ValueError(f"cluster 'gpus': backend 'cupy' {reason}")
    if named := os.environ.get("CUDA_VISIBLE_DEVICES"):
        return named.split(",")
    import cupy

    return [str(number) for number in range(cupy.cuda.runtime.getDeviceCount())]


def submit(client: Client, task: Any, *args: Any) -> Future:
    """Let any worker run a task.

    None is tied to a worker: Dask prefers the one that holds the arguments, and tasks with ties,
    even loose ones, never start once all workers that they name are lost.
    """
    with warnings.catch_warnings():
        # Rows are sent as part of a task on purpose: they must survive the workers.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return client.submit(task, *args, pure=False)


def count_workers(client: Client) -> int:
    """Workers of a cluster, at least one."""
    return max(1, len(client.scheduler_info(n_workers=-1)["workers"]))


def tasks_in_flight(client: Client) -> int:
    """How many tasks keep all threads of a cluster busy: none waits for this process."""
    return 2 * max(1, sum(client.nthreads().values()))


def _parts(cluster: str) -> tuple[str, int | None]:
    """Where processes are started, and how many if it is said."""
    where, _, count = cluster.partition(":")
    if where not in ("local", "gpus") or (count and not (count.isdecimal() and int(count) > 0)):
        raise ValueError(
            f"cluster must be 'local', 'local:N', 'gpus', 'gpus:N' or a scheduler's address such "
            f"as tcp://host:8786, got {cluster!r}"
        )
    return where, int(count) if count else None
