"""Connect to a running cluster, or start one of processes on this machine."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import dask
from distributed import Client, Future, LocalCluster

from swnn_xp.checks import check_threads

# A busy machine can take longer than Dask's 15 seconds to restart a worker, and than its 30 to
# answer; without this, Dask gives up the worker for good. When no worker is left, an error is
# better than waiting forever.
_PATIENCE = {
    "distributed.comm.timeouts.connect": "120s",
    "distributed.deploy.lost-worker-timeout": "120s",
    "distributed.scheduler.no-workers-timeout": "300s",
}


@contextlib.contextmanager
def connect(cluster: str | Client = "local") -> Iterator[Client]:
    """Connect to a cluster for the duration of a ``with`` block.

    Parameters
    ----------
    cluster : str or Client
        ``"local"``: one process for each core that this process may use, stopped at the end;
        ``"local:4"``: four of them. Anything with ``://`` is the address of a scheduler; a client
        is used as it is.

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
        with (
            dask.config.set(_PATIENCE),
            LocalCluster(
                n_workers=_local_workers(cluster),
                threads_per_worker=1,
                processes=True,
                # A free port: None would still take 8787, which another cluster may have.
                dashboard_address="127.0.0.1:0",
            ) as local,
            Client(local) as client,
        ):
            yield client


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


def _local_workers(cluster: str) -> int:
    where, _, count = cluster.partition(":")
    if where != "local" or (count and not (count.isdecimal() and int(count) > 0)):
        raise ValueError(
            f"cluster must be 'local', 'local:N' or a scheduler's address such as "
            f"tcp://host:8786, got {cluster!r}"
        )
    return int(count) if count else check_threads(-1)
