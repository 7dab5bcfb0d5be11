"""A process for each GPU: the answers and the bytes of a single process without one.

Here the kernels run on the CPU, and two processes stand for two devices.
"""

import os

import numpy as np
import pytest

from swnn_xp import SWNNClassifier, SWNNRanker
from swnn_xp.backends import BACKENDS
from swnn_xp.cli.main import main
from swnn_xp.distributed import connect, fit_on_cluster

from .test_training import PARAMS, saved_bytes

if reason := BACKENDS["cupy"].unusable():
    pytest.skip(f"cupy: {reason} (make test-backends has it)", allow_module_level=True)


def seen_devices():
    return os.environ["CUDA_VISIBLE_DEVICES"]


@pytest.fixture(scope="module")
def gpus():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b,GPU-c")
        with connect("gpus:2") as client:
            yield client


@pytest.mark.parametrize("backend", ["cupy"])
class TestGpus:
    def test_a_process_for_each(self, gpus, backend):
        assert sorted(gpus.run(seen_devices).values()) == ["GPU-a", "GPU-b"]
        assert set(gpus.nthreads().values()) == {2}
        with pytest.raises(ValueError, match="cluster 'gpus:4': there are"), connect("gpus:4"):
            pass

    def test_files_have_the_same_bytes(self, gpus, problem, train_file, tmp_path, backend):
        SWNNClassifier(20).fit(*problem).save(tmp_path / "model")
        where, wanted = tmp_path / "parts", tmp_path / "wanted.tsv"
        command = ["predict", str(tmp_path / "model"), str(train_file), "--rows", "100"]
        on_gpus = ["--cluster", gpus.scheduler.address, "--backend", backend]
        assert main([*command, "-o", str(wanted)]) == 0
        assert main([*command, "-o", str(where), *on_gpus]) == 0
        texts = [path.read_text().split("\n", 1) for path in sorted(where.glob("part-*"))]
        assert len(texts) == 13
        assert texts[0][0] + "\n" + "".join(text for _, text in texts) == wanted.read_text()

    def test_training_has_the_same_bytes(self, gpus, problem, tmp_path, backend):
        """All that is learned from neighbours that the devices have found; an index is its own."""
        X, Y = (part[:300] for part in problem)
        made = {
            "here": SWNNRanker(**PARAMS, backend="numba").fit(X, Y),
            "there": fit_on_cluster(SWNNRanker(**PARAMS, backend=backend), X, Y, cluster=gpus),
        }
        for name, clf in made.items():
            clf.save(tmp_path / name)
        here, there = (saved_bytes(tmp_path / name)[0] for name in made)
        for files in (here, there):
            for name in [name for name in files if name.startswith("index_")]:
                del files[name]
        assert there == here
        assert len(here) > 10
        queries = X[:100]
        pairs = zip(*(clf.topk_probabilities(queries) for clf in made.values()), strict=True)
        for one, other in pairs:
            np.testing.assert_array_equal(one, other)

    def test_a_worker_that_dies_gets_its_device_back(self, gpus, backend):
        before = gpus.run(os.getpid)
        gpus.restart()
        after = gpus.run(os.getpid)
        assert not set(before.values()) & set(after.values())
        assert sorted(gpus.run(seen_devices).values()) == ["GPU-a", "GPU-b"]
