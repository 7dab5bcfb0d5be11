"""Training rows over the workers of a Dask cluster, with the answer of a single machine.

A shard is a run of training rows with an index of its own, held by a worker as an ordinary Dask
result: what the scheduler knows is how to make it (its recipe), so that a worker that dies costs
time and nothing else. Every shard returns its best rows, `swnn_xp.search.top_rows.merge` joins the
lists in a tree, the shards look the labels of the winners up, and then the votes are counted.
"""

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError("swnn_xp.distributed needs Dask: pip install 'swnn-xp[dask]'") from error

from swnn_xp.distributed.cluster import connect
from swnn_xp.distributed.scoring import Scored, score_on_cluster
from swnn_xp.distributed.sharded import ShardedClassifier
from swnn_xp.distributed.shards import ShardError

__all__ = ["Scored", "ShardError", "ShardedClassifier", "connect", "score_on_cluster"]
