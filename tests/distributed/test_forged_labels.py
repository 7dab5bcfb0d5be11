"""Labels from a file are checked before they vote, on a cluster as on one machine."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier
from swnn_xp.bulk.journal import model_digest
from swnn_xp.distributed import ShardedClassifier, connect
from swnn_xp.distributed.sharded import labels_of_winners, search_shard
from swnn_xp.distributed.shards import StoredRecipe, make_shard
from swnn_xp.store import open_arrays, save_arrays

EYE = sp.eye_array(6, format="csr")


def forge_labels(path, label):
    """Rewrite a saved model with a label id out of range; its checksums are right."""
    stored = open_arrays(path, mmap=False)
    arrays = {name: np.array(array) for name, array in stored.arrays.items()}
    arrays["labels_indices"][0] = label
    save_arrays(path, arrays, stored.meta, {n: list(v) for n, v in stored.names.items()})


@pytest.mark.parametrize("label", [6, -1, 2**31 - 1])
def test_a_shard_checks_its_labels(tmp_path, label):
    SWNNClassifier().fit(EYE, EYE).save(tmp_path)
    forge_labels(tmp_path, label)
    shard = make_shard(StoredRecipe(str(tmp_path), model_digest(tmp_path), 6), {})
    with pytest.raises(ValueError, match="labels_indices"):
        labels_of_winners(shard, search_shard(shard, EYE, 3, 1.0))


def test_a_cluster_refuses_to_vote(tmp_path):
    """On a cluster of its own: what a failed task leaves must not meet the tests that kill."""
    with connect("local:1") as client:
        made = ShardedClassifier.from_matrices(client, EYE, EYE, n_shards=2)
        made.save(tmp_path)
        forge_labels(tmp_path / "shard-00001", 77)
        listed = json.loads((tmp_path / "shards.json").read_text())
        listed["shards"][1]["manifest"] = model_digest(tmp_path / "shard-00001")
        (tmp_path / "shards.json").write_text(json.dumps(listed))
        labels = ShardedClassifier.load(client, tmp_path).predict_topk(EYE, k=2).labels
        with pytest.raises(ValueError, match="labels_indices"):
            labels.compute()
