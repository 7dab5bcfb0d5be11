"""What a shard costs: the figures of docs/cluster.md.

    python asv_benchmarks/cluster/figures.py ../shared/data/eurlex57k

CPU times on one thread, best of several; bytes are those of pickled messages, as Dask sends them.
"""

import pickle
import sys
import time
from pathlib import Path

from scipy.sparse import csr_array

from swnn_xp import SWNNClassifier, read_xmc
from swnn_xp.distributed import ShardedClassifier, connect
from swnn_xp.distributed.sharded import labels_of_winners, search_shard, vote_of_winners
from swnn_xp.distributed.shards import MatrixRecipe, make_shard
from swnn_xp.results import Neighbours
from swnn_xp.search import merge

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import record

BLOCK = 1024
SAID: list[dict] = []
ALPHA, BETA, K, BUDGET = 1.0, 1.0, 5, 10**9


def main() -> None:
    data = Path(sys.argv[1])
    if not data.is_dir():
        sys.exit(f"left out: no data at {data}")
    X, Y = read_xmc(data / "train.txt.xz")
    queries, _ = read_xmc(data / "test.txt.xz")
    block = queries[:BLOCK]
    half = X.shape[0] // 2
    params = SWNNClassifier().get_params()
    recipes = [MatrixRecipe(X[:half], Y[:half], 0), MatrixRecipe(X[half:], Y[half:], half)]
    shards = [make_shard(recipe, params) for recipe in recipes]
    wanted = params["n_neighbors"]
    found = [search_shard(shard, block, wanted, BETA) for shard in shards]
    merged = merge(*found, wanted)
    known = [labels_of_winners(shard, merged) for shard in shards]

    model = shards[0].clf.model_
    size = sum(a.nbytes for a in [*model.segments[0].arrays().values(), *model.labels[:2]])
    say("non-zeros per row", X.nnz / X.shape[0])
    say("index with labels, bytes per row", size / half)
    say("build, µs per row", 1e6 * cpu(lambda: make_shard(recipes[0], params), 1) / half)
    clf = SWNNClassifier().fit(X, Y)
    seconds = cpu(lambda: clf.kneighbors(block)) / BLOCK
    say("search, ns per query and training row", 1e9 * seconds / X.shape[0])
    say("merge of two lists, µs per query", 1e6 * cpu(lambda: merge(*found, wanted)) / BLOCK)
    labels = cpu(lambda: labels_of_winners(shards[0], merged))
    say("labels of winners, µs per query", 1e6 * labels / BLOCK)
    vote = cpu(lambda: vote_of_winners(merged, known, ALPHA, K, BUDGET))
    say("vote, µs per query", 1e6 * vote / BLOCK)
    say("query, bytes", pickled(block) / BLOCK)
    say("top-S list, bytes per query", pickled(Neighbours(*found[0])) / BLOCK)
    say("labels of winners, bytes per query", sum(map(pickled, known)) / BLOCK)
    with connect("local:2") as client:
        say("Dask, scheduler's CPU per task, ms", 1e3 * scheduling(client))
        say("Dask, round trip of one row over two shards, ms", 1e3 * round_trip(client))
    rows = [row | {"dataset": data.name} for row in SAID]
    record("cluster", rows, ("dataset", "what"))


def scheduling(client, tasks: int = 500) -> float:
    """CPU time of this process, which runs client and scheduler, for a task that does nothing."""

    def work():
        client.gather([client.submit(abs, -i, pure=False) for i in range(tasks)])

    return cpu(work) / tasks


def round_trip(client) -> float:
    """Wall time of the smallest question, the best of many: what Dask adds to every block."""
    clf = ShardedClassifier.from_matrices(client, [[1, 0], [0, 1]], [[1], [1]], n_shards=2).wait()
    best = float("inf")
    for _ in range(50):
        started = time.perf_counter()
        clf.rank_block(csr_array([[1, 1]]), 1).result()
        best = min(best, time.perf_counter() - started)
    return best


def cpu(work, turns: int = 5) -> float:
    best = float("inf")
    for _ in range(turns):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def pickled(thing) -> int:
    return len(pickle.dumps(thing, protocol=5))


def say(what: str, figure: float) -> None:
    SAID.append({"what": what, "value": round(float(figure), 3)})
    print(f"{what:<48}{figure:>12,.2f}")


if __name__ == "__main__":
    main()
