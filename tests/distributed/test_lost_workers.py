"""kill -9 on a worker in the middle: nothing is lost, or there is an error, never a part."""

import os
import signal
import time

import numpy as np
import pytest

from swnn_xp.distributed import ShardedClassifier, ShardError

from .conftest import S

BLOCK = 100


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def make(kind, client, problem, train_file):
    if kind == "matrices":
        return ShardedClassifier.from_matrices(client, *problem, n_shards=4, n_neighbors=S)
    clf = ShardedClassifier.from_files(client, train_file, n_shards=4, n_neighbors=S)
    if kind == "file":
        return clf
    clf.save(train_file.parent / "model")
    return ShardedClassifier.load(client, train_file.parent / "model")


@pytest.mark.parametrize("kind", ["matrices", "file", "folder"])
def test_a_killed_worker_loses_nothing(client, problem, single, train_file, kind):
    client.wait_for_workers(2)
    clf = make(kind, client, problem, train_file).wait()
    victim = next(iter(client.who_has(clf._shards).values()))[0]
    pid = client.run(os.getpid, workers=[victim])[victim]
    blocks = [problem[0][start : start + BLOCK] for start in range(0, 800, BLOCK)]
    # Stopped first: work that it gets it will never finish.
    os.kill(pid, signal.SIGSTOP)
    futures = [clf.rank_block(block, 5) for block in blocks]
    wait_until_busy(client)
    kill(pid)
    for block, best in zip(blocks, client.gather(futures), strict=True):
        expected = single.predict_topk(block, 5)
        np.testing.assert_array_equal(best.labels, expected.labels)
        np.testing.assert_array_equal(best.scores, expected.scores)


def test_a_shard_that_cannot_be_made_again_is_an_error(client, problem, train_file):
    client.wait_for_workers(2)
    clf = ShardedClassifier.from_files(client, train_file, n_shards=2).wait()
    before = client.gather(clf.rank_block(problem[0][:5], 3))
    assert before.labels.shape == (5, 3)
    train_file.unlink()
    for pid in client.run(os.getpid).values():
        kill(pid)
    answer = clf.predict_topk(problem[0][:5], k=3).labels
    with pytest.raises(ShardError, match=r"train\.txt \(rows .*can't be made: .*No such file"):
        answer.compute()


def test_a_file_that_has_changed_is_an_error(client, train_file):
    client.wait_for_workers(2)
    clf = ShardedClassifier.from_files(client, train_file, n_shards=1).wait()
    text = train_file.read_text()
    train_file.write_text(text + "\n")
    clf = ShardedClassifier(client, clf.recipes, 40, 30)
    with pytest.raises(ShardError, match="the file has changed since"):
        clf.wait()


def test_a_bad_line_in_one_shard_is_an_error(client, train_file):
    lines = train_file.read_text().splitlines()
    lines[1000] = "0 nonsense"
    train_file.write_text("\n".join(lines))
    clf = ShardedClassifier.from_files(client, train_file, n_shards=3)
    with pytest.raises(ShardError, match=r"train\.txt.*1001"):
        clf.wait()


def test_a_replaced_shard_is_an_error(client, problem, single, tmp_path):
    made = ShardedClassifier.from_matrices(client, *problem, n_shards=2)
    made.save(tmp_path / "model")
    single.save(tmp_path / "model" / "shard-00001")
    clf = ShardedClassifier.load(client, tmp_path / "model")
    with pytest.raises(ShardError, match="shard-00001 can't be made: the model has been replaced"):
        clf.wait()


def wait_until_busy(client, seconds=60):
    """Wait until any worker has work: which one gets it is the scheduler's choice."""
    deadline = time.monotonic() + seconds
    while not any(client.processing().values()):
        assert time.monotonic() < deadline, "no worker was given any work"
        time.sleep(0.05)
