"""Output replaces a file in one step; what can't be replaced is written directly."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from swnn_xp.cli.common import output
from swnn_xp.io.files import open_atomic, open_output

OPENERS = [open_atomic, open_output]


def read_pipe(path):
    """Read a pipe to its end in another thread; call the result to get the bytes."""
    found = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()

    def result():
        reader.join(timeout=60)
        return found[0]

    return result


@pytest.mark.parametrize("opener", OPENERS)
def test_a_pipe_is_written_directly(tmp_path, opener):
    os.mkfifo(tmp_path / "pipe")
    result = read_pipe(tmp_path / "pipe")
    with opener(tmp_path / "pipe") as file:
        file.write(b"text")
    assert result() == b"text"
    assert os.listdir(tmp_path) == ["pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_a_command_writes_to_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    result = read_pipe(tmp_path / "pipe")
    with output(tmp_path / "pipe") as file:
        file.write("Wörter\n")
    assert result() == "Wörter\n".encode()


def test_a_device_is_written_directly():
    with open_atomic("/dev/null") as file:
        file.write(b"text")
    assert os.path.exists("/dev/null")
    assert not os.path.isfile("/dev/null")
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left"), open_atomic("/dev/full") as file:
            file.write(b"text")


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_an_open_file_is_written_where_it_stands(tmp_path, name):
    (tmp_path / "link").symlink_to(name)
    script = (
        "import sys; from swnn_xp.io.files import open_atomic\n"
        "with open_atomic(sys.argv[1]) as file: file.write(b'text ')"
    )
    (tmp_path / "out").write_text("kept ")
    for path in (name, tmp_path / "link"):
        with (tmp_path / "out").open("ab") as out:
            subprocess.run([sys.executable, "-c", script, path], stdout=out, check=True)
            out.write(b"more ")
    assert (tmp_path / "out").read_text() == "kept text more text more "
    assert sorted(os.listdir(tmp_path)) == ["link", "out"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_node_stays_one(tmp_path):
    try:
        os.mknod(tmp_path / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        (tmp_path / "null").write_bytes(b"")
    except PermissionError:
        pytest.skip("this container may not make or open devices")
    (tmp_path / "link").symlink_to("null")
    for name in ("null", "link"):
        with open_atomic(tmp_path / name) as file:
            file.write(b"text")
    assert stat.S_ISCHR((tmp_path / "null").stat().st_mode)
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "null"]


def test_a_loop_of_links_is_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"), open_atomic(tmp_path / "a"):
        pytest.fail("the block must not run")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("opener", OPENERS)
def test_errors_name_the_output_not_a_temporary_file(tmp_path, opener):
    path = str(tmp_path / "nowhere" / "out.txt")
    with pytest.raises(FileNotFoundError) as caught, opener(path):
        pytest.fail("the block must not run")
    assert caught.value.filename == path


def test_a_full_disk_names_the_output(tmp_path):
    with pytest.raises(OSError, match="No space") as caught, open_atomic(tmp_path / "out"):
        raise OSError(28, "No space left on device")
    assert caught.value.filename == str(tmp_path / "out")


def test_a_chain_of_links_stays(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "real").write_text("old")
    (tmp_path / "second").symlink_to("far/real")
    (tmp_path / "first").symlink_to("second")
    with open_atomic(tmp_path / "first") as file:
        file.write(b"new")
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert (tmp_path / "far" / "real").read_text() == "new"
    assert os.listdir(tmp_path / "far") == ["real"]


def test_a_folder_is_refused_before_anything_is_written(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError), open_atomic(tmp_path / "folder"):
        pytest.fail("the block must not run")
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("opener", [*OPENERS, output])
def test_an_error_leaves_the_old_file(tmp_path, opener):
    def fail():
        with opener(tmp_path / "a") as file:
            file.write("new" if opener is output else b"new")
            raise ZeroDivisionError

    (tmp_path / "a").write_text("old")
    with pytest.raises(ZeroDivisionError):
        fail()
    assert (tmp_path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]
