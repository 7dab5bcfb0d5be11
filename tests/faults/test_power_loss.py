"""A loss of power leaves the old model or the new one; a short run of `power_loss.py`."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from disk_states import Call, Disk, disk_states
from visible import visible

HERE = Path(__file__).parent


def test_short_run():
    command = [sys.executable, HERE / "power_loss.py", "130", "1", "store", "predict"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "power lost" in run.stdout
    assert "at 22 of 22 moments every disk" in run.stdout.splitlines()[0]  # the store


def replaced(root, *, sync):
    """Write beside and rename, as every careful program does, and some forget a step of."""
    (root / "file").write_bytes(b"old")
    disk, at = Disk(root), str(root.resolve())
    calls = [Call("create", f"{at}/new", ()), Call("write", f"{at}/new", ("0", "6"), b"newest")]
    calls += [Call("fsync", f"{at}/new", ())] if sync else []
    calls += [Call("rename", f"{at}/new", (f"{at}/file",))]
    return {state.files["file"] for state in disk_states(disk, calls, most=100)}


def test_a_synced_file_replaces_another_whole(tmp_path):
    assert replaced(tmp_path, sync=True) == {b"old", b"newest"}


def test_a_file_that_was_not_synced_may_be_torn(tmp_path):
    assert replaced(tmp_path, sync=False) == {b"old", b"newest", b"", b"new", bytes(6)}


def test_entries_wait_for_their_folder(tmp_path):
    (tmp_path / "folder").mkdir()
    disk, at = Disk(tmp_path), str(tmp_path.resolve())
    calls = [Call("create", f"{at}/folder/x", ()), Call("fsync", f"{at}/folder/x", ())]
    states = [sorted(state.files) for state in disk_states(disk, calls, most=100)]
    assert states == [["folder"], ["folder", "folder/x"]]
    calls.append(Call("fsync", f"{at}/folder", ()))
    last = list(disk_states(Disk(tmp_path), [*calls, Call("mkdir", f"{at}/d", ())], most=100))[-1]
    assert "folder/x" in last.files


def test_what_is_reported_is_known(tmp_path):
    calls = [Call("create", f"{tmp_path.resolve()}/.reported", ()),
             Call("write", f"{tmp_path.resolve()}/.reported", ("0", "2"), b"16")]  # fmt: skip
    assert [state.reported for state in disk_states(Disk(tmp_path), calls, 9)] == [[], ["16"]]


def saved(root, *, sync):
    """Calls of a save of two files over an older model; `sync`: files and folders are made safe."""
    model = root / "model"
    (model / "data-1").mkdir(parents=True)
    (model / "data-1" / "a").write_bytes(b"old")
    (model / "manifest.json").write_bytes(b'{"data": "data-1"}')
    disk, at, new = Disk(root), str(model.resolve()), b'{"data": "data-2"}'
    calls = [Call("mkdir", f"{at}/data-2", ())]
    for name, text in (("data-2/a", b"newer"), ("data-2/b", b"newer"), ("tmp", new)):
        calls += [Call("create", f"{at}/{name}", ())]
        calls += [Call("write", f"{at}/{name}", ("0", str(len(text))), text)]
        calls += [Call("fsync", f"{at}/{name}", ())] * sync
    calls += [Call("fsync", path, ()) for path in (f"{at}/data-2", at)] * sync
    calls += [Call("rename", f"{at}/tmp", (f"{at}/manifest.json",))]
    calls += [Call("fsync", at, ())] * sync
    return disk, [*calls, Call("remove", f"{at}/data-1/a", ()), Call("remove", f"{at}/data-1", ())]


def read(files):
    """What a reader of the model gets."""
    folder = json.loads(files["model/manifest.json"])["data"]
    return {name: files.get(f"model/{folder}/{name}") for name in ("a", "b")}


def test_visible_steps_stand_for_all_combinations(tmp_path):
    """A reader gets the same from few disks as from every one."""
    disk, calls = saved(tmp_path, sync=True)
    every = [read(state.files) for state in disk_states(disk, calls, most=10**6)]
    complete = []
    disk, calls = saved(tmp_path / "again", sync=True)
    few = [
        read(state.files)
        for state in disk_states(disk, calls, 5, complete=complete, visible=visible)
    ]
    assert all(complete)
    for each in (every, few):
        assert {tuple(found.values()) for found in each} == {(b"old", None), (b"newer", b"newer")}


def test_steps_that_a_manifest_may_name_are_visible(tmp_path):
    disk, calls = saved(tmp_path, sync=False)
    complete = []
    list(disk_states(disk, calls, 5, complete=complete, visible=visible))
    assert complete[:2] == [True, True]  # nothing names the new folder yet
    assert not all(complete)
