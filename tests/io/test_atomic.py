"""Output replaces a file in one step; what can't be replaced is written directly."""

import os
import threading

import pytest

from swnn_xp.cli._common import output
from swnn_xp.io.atomic import open_atomic
from swnn_xp.io.streams import open_output

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
