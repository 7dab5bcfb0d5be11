"""Training rows spread over the workers of a Dask cluster, with the answer of a single machine.

A shard is a run of training rows with its own index, held by a worker as an ordinary Dask result.
The scheduler knows how to make it again (its recipe), so a worker that dies costs only time. Every
shard returns its nearest rows, `swnn_xp.search.merge` merges the lists in a tree, the
shards look up the labels of the winners, and the votes are counted.
"""

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError("swnn_xp.distributed needs Dask: pip install 'swnn-xp[dask]'") from error

from swnn_xp.distributed.cluster import connect
from swnn_xp.distributed.predict_files import (
    OutputOptions,
    PredictedParts,
    predict_on_cluster,
)
from swnn_xp.distributed.sharded import ShardedClassifier
from swnn_xp.distributed.shards import ShardError
from swnn_xp.distributed.training import fit_on_cluster, train_on_cluster

__all__ = [
    "OutputOptions",
    "PredictedParts",
    "ShardError",
    "ShardedClassifier",
    "connect",
    "fit_on_cluster",
    "predict_on_cluster",
    "train_on_cluster",
]
