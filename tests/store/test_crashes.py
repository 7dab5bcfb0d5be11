"""A save that ends anywhere leaves the old model or the new one, and the next save tidies up."""

import errno
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from swnn_xp.store import open_arrays, save_arrays

STEPS = ["mkdir", "fsync", "replace", "open", "unlink", "rmdir"]

CHILD = """
import os, sys
import numpy as np
from swnn_xp.store import save_arrays

path, step = sys.argv[1:]
real, calls = getattr(os, step), 0

def die_at_count(*args, **kwargs):
    global calls
    calls += 1
    if calls == count:
        os._exit(9)
    return real(*args, **kwargs)

for count in range(1, 100):
    child = os.fork()
    if child == 0:
        setattr(os, step, die_at_count)
        save_arrays(f"{path}/{count}", {"a": np.arange(4), "b": np.ones(3)}, {"v": 2}, {"l": ["n"]})
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
print(count - 1)
"""


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_every_step(tmp_path, step):
    old = tmp_path / "old"
    save_arrays(old, {"a": np.arange(3)}, {"v": 1}, {"l": ["o"]})
    for count in range(1, 40):
        shutil.copytree(old, tmp_path / str(count))
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), step],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    deaths = int(run.stdout)
    assert 0 < deaths < 39
    seen = set()
    for count in range(1, deaths + 1):
        path = tmp_path / str(count)
        model = open_arrays(path, verify=True)
        seen.add(model.meta["v"])
        assert model.arrays["a"].tolist() == list(range(model.meta["v"] + 2))
        assert model.names["l"] == [{1: "o", 2: "n"}[model.meta["v"]]]
        save_arrays(path, {"c": np.arange(5)}, {"v": 3})
        assert open_arrays(path, verify=True).meta == {"v": 3}
        assert len(os.listdir(path)) == 2
    assert seen <= {1, 2}
    assert 1 in seen or step in ("unlink", "rmdir")


def test_killed_during_the_first_save(tmp_path):
    (tmp_path / "m" / "data-0123456789abcdef").mkdir(parents=True)
    (tmp_path / "m" / "manifest-0123456789abcdef.tmp").write_text("{")
    with pytest.raises(ValueError, match=r"manifest.json: is missing"):
        open_arrays(tmp_path / "m")
    save_arrays(tmp_path / "m", {}, {"v": 1})
    assert len(os.listdir(tmp_path / "m")) == 2


@pytest.mark.parametrize("step", ["fsync", "replace", "mkdir"])
def test_a_failing_disk_leaves_the_old_model_and_nothing_else(tmp_path, monkeypatch, step):
    save_arrays(tmp_path, {"a": np.arange(3)}, {"v": 1})
    real = getattr(os, step)
    for count in range(1, 100):
        calls = []

        def fail(*args, calls=calls, count=count, **kwargs):
            calls.append(1)
            if len(calls) == count:
                raise OSError(errno.ENOSPC, "no space left")
            return real(*args, **kwargs)

        monkeypatch.setattr(os, step, fail)
        try:
            save_arrays(tmp_path, {"a": np.arange(4)}, {"v": 2}, {"l": ["n"]})
        except OSError:
            failed = True
        else:
            failed = False
        monkeypatch.setattr(os, step, real)
        version = open_arrays(tmp_path, verify=True).meta["v"]
        if not failed:
            assert version == 2
            break
        if version == 1:
            assert len(os.listdir(tmp_path)) == 2
        save_arrays(tmp_path, {"a": np.arange(3)}, {"v": 1})
    assert 1 < count < 30


def test_two_saves_at_once_wait_for_each_other(tmp_path):
    code = (
        "import sys, numpy as np; from swnn_xp.store import save_arrays\n"
        "for i in range(20): save_arrays(sys.argv[1], {'a': np.full(9, i)}, {'v': i})"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(2)]
    assert [run.wait(timeout=60) for run in runs] == [0, 0]
    model = open_arrays(tmp_path, verify=True)
    assert model.arrays["a"].tolist() == [model.meta["v"]] * 9
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize("folder", ["model", "one/two/model"])
def test_a_full_disk_is_named_and_leaves_no_folder(tmp_path, monkeypatch, folder):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / folder
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
            save_arrays(path, {"a": np.arange(3)}, {})
    assert not list(tmp_path.iterdir())
    save_arrays(path, {"a": np.arange(3)}, {})
    (path / "notes.txt").write_text("mine")  # what was there stays
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
            save_arrays(path, {"a": np.arange(4)}, {})
    assert open_arrays(path).arrays["a"].size == 3
    assert (path / "notes.txt").exists()
