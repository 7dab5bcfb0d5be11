"""Training on a cluster: searches go to shards of the rows, and labels are trained by workers.

The model is that of a single machine, to the last byte: neighbours of shards are merged exactly,
and a label's model depends on nothing but its own rows.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from distributed import Client, Future

from swnn_kernels.learn.descent import DescentRows
from swnn_xp.backends.index import Search
from swnn_xp.distributed.cluster import connect, count_workers, submit, tasks_in_flight
from swnn_xp.distributed.sharded import BLOCK, ShardedClassifier, same
from swnn_xp.distributed.shards import rows_recipes
from swnn_xp.learn.label_models import (
    LabelTask,
    RemoteTrainer,
    TrainedTask,
    remote_training,
    train_task,
)
from swnn_xp.learned_weights import LearnedWeights
from swnn_xp.ranker import SWNNRanker
from swnn_xp.results import Neighbours
from swnn_xp.rows.records import LabelRows, QuantisedRows, slice_rows

Estimator = TypeVar("Estimator", SWNNRanker, LearnedWeights)


def fit_on_cluster(
    estimator: Estimator, X: Any, y: Any, *, cluster: str | Client = "local", **names: Any
) -> Estimator:
    """Train a `SWNNRanker` or `LearnedWeights` on a cluster.

    Parameters
    ----------
    estimator : SWNNRanker or LearnedWeights
        Its ``backend``, if it has one, is also that of the workers.
    X, y : matrices
        As for its ``fit``.
    cluster : str or Client
        As for `connect`.
    **names
        Further arguments of its ``fit``.

    Returns
    -------
    estimator
        Fitted in this process: the same model, to the last byte, as its ``fit`` makes here.

    Examples
    --------
    >>> from swnn_xp import SWNNRanker
    >>> from swnn_xp.distributed import fit_on_cluster
    >>> X, y = [[1, 1, 0], [0, 1, 1], [1, 0, 0]] * 5, [[1, 0], [0, 1], [1, 0]] * 5
    >>> clf = fit_on_cluster(SWNNRanker(n_neighbors=3), X, y, cluster="local:1")
    >>> clf.predict_topk([[1, 1, 0]], k=1).labels.tolist()
    [[0]]
    """
    backend = getattr(estimator, "backend", "auto")
    with train_on_cluster(cluster, backend=backend, memory_budget=estimator.memory_budget):
        return estimator.fit(X, y, **names)


@contextlib.contextmanager
def train_on_cluster(cluster: str | Client = "local", **params: Any) -> Iterator[Client]:
    """Train on a cluster whatever is trained inside a ``with`` block.

    Parameters
    ----------
    cluster : str or Client
        As for `connect`.
    **params
        Parameters of how the workers search: ``backend``, ``memory_budget``, ``n_jobs``.
    """
    with connect(cluster) as client:

        def index(rows: QuantisedRows) -> Search:
            return _shard_search(client, rows, params)

        def train(rows: DescentRows, tasks: Iterable[LabelTask]) -> Iterator[TrainedTask]:
            return _trained(client, rows, tasks)

        with remote_training(RemoteTrainer(index, train)):
            yield client


def _shard_search(client: Client, rows: QuantisedRows, params: dict[str, Any]) -> Search:
    """Spread rows over the workers; a search sends its queries there in blocks."""
    no_labels = LabelRows(np.zeros(rows.n_rows + 1, np.int64), np.zeros(0, np.int32), 0)
    recipes = rows_recipes(rows, no_labels, None, count_workers(client))
    shards = ShardedClassifier(client, recipes, rows.n_features, 0, **params)

    def search(
        queries: QuantisedRows, n_neighbors: int, beta: float, postings: int = 0
    ) -> Neighbours:
        starts = range(0, max(1, queries.n_rows), BLOCK)
        blocks = [slice_rows(queries, s, min(s + BLOCK, queries.n_rows)) for s in starts]
        futures = [shards.find_rows(block, n_neighbors, beta, postings) for block in blocks]
        found = client.gather(futures)
        sims, ids = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return Neighbours(sims, ids)

    return search


def _trained(
    client: Client, rows: DescentRows, tasks: Iterable[LabelTask]
) -> Iterator[TrainedTask]:
    """Train runs of labels on workers, a few ahead of the one that is due."""
    placed = submit(client, same, rows)  # once; workers pass it on to each other
    most = tasks_in_flight(client)
    running: deque[Future] = deque()
    for task in tasks:
        running.append(submit(client, train_task, placed, task))
        if len(running) >= most:
            yield running.popleft().result()
    while running:
        yield running.popleft().result()
