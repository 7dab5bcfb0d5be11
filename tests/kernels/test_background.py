"""A cold machine: the first process answers, ends at once, and leaves compiled kernels behind."""

import fcntl
import os
import subprocess
import sys

import pytest

from swnn_kernels._numba import caching

ANSWER = """
import os, sys
from swnn_kernels.background import SEARCHES
from swnn_xp import SWNNClassifier
clf = SWNNClassifier().fit([[1, 0], [0, 1]], [[1, 0], [0, 1]])
if "fork" in sys.argv:
    clf.predict_topk([[1, 0]], k=1)
    if (child := os.fork()) > 0:
        sys.exit(os.waitpid(child, 0)[1])
print(clf.predict_topk([[1, 0]], k=1).labels.tolist(), SEARCHES.is_ready(), flush=True)
"""


def answer(variables, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ANSWER, *arguments],
        env=os.environ | variables, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_a_cold_start_answers_and_leaves_compiled_kernels(tmp_path):
    variables = {  # plain: soonest compiled
        "SWNN_PLAIN_NUMBA": "1", "NUMBA_CACHE_DIR": str(tmp_path), "SWNN_BACKGROUND_COMPILE": "1",
    }  # fmt: skip
    assert answer(variables) == "[[0]] False"
    assert answer(variables, "fork") in ("[[0]] False", "[[0]] True")
    (lock,) = tmp_path.rglob("searches.lock")
    with open(lock) as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # both have compiled
    assert answer(variables) == "[[0]] True"
    assert not list(tmp_path.rglob("*.tmp.*"))


class Files:
    """What numba keeps of a kernel on disk."""

    def __init__(self, folder):
        self._index_path = folder / "list"
        self._data_path = folder.joinpath

    def _load_index(self):
        return {("types", "this CPU", "hash"): "code"} if self._index_path.exists() else {}


class Kernel:
    def __init__(self, folder):
        self._cache = self.targetctx = self
        self._cache_file = Files(folder)

    def codegen(self):
        return self

    def magic_tuple(self):
        return "this CPU"


def test_only_code_that_is_as_new_as_its_list_counts(tmp_path):
    kernel = Kernel(tmp_path)
    assert caching.is_kept(kernel) is False
    (tmp_path / "code").write_text("of older sources")
    os.utime(tmp_path / "code", (1, 1))
    (tmp_path / "list").write_text("")
    assert caching.is_kept(kernel) is False
    (tmp_path / "code").write_text("new")
    os.utime(tmp_path / "list", (2, 2))
    assert caching.is_kept(kernel) is True
    (tmp_path / "code").unlink()
    assert caching.is_kept(kernel) is False


@pytest.mark.parametrize("kernel", [object(), None])
def test_where_numba_has_changed_nothing_is_known(kernel):
    assert caching.is_kept(kernel) is None
