"""Every example of the pages runs: Python by doctest (see pyproject.toml), shell blocks here.

A shell block runs in a folder of its page where debtags lies as text files. A block of text right
after it is what it must print, with ``...`` for what may differ. A block under a comment
``<!-- not run: why -->`` is left out. A block may start a service that later ones use: it ends with
the page, and where the page names one of `_PORTS`, a free one is taken. Where none is started,
`swnn` is that of `commands`.
"""

import contextlib
import doctest
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from doc_commands import STUB
from doc_fences import fences, lacks, name_of, pages

from swnn_xp import datasets, write_names, write_xmc

_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_NOT_CODE = {"", "text", "toml", "json"}
_PORTS = ("8000", "8786")
_WITH_SHELL = [p for p in pages() if any(f.kind == "sh" and not f.reason for f in fences(p))]


@pytest.fixture(scope="session")
def debtags_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("debtags")
    data = datasets.load("debtags")
    write_xmc(folder / "train.txt", data.X_train, data.y_train)
    write_xmc(folder / "test.txt", data.X_test, data.y_test)
    write_xmc(folder / "new.txt", data.X_test[:50], data.y_test[:50])
    write_names(folder / "label_map.txt", data.label_names)
    write_names(folder / "feature_map.txt", data.feature_names)
    (folder / "avail.txt").write_text(_package_lists(data))
    return folder


@pytest.fixture(scope="session")
def forking_swnn(tmp_path_factory):
    """A folder for the path, with a `swnn` that does not import everything each time."""
    folder = tmp_path_factory.mktemp("swnn")
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    models, address = shared / "models", folder / "socket"
    models.mkdir(exist_ok=True)
    stub = folder / "swnn"
    stub.write_text(STUB.format(python=sys.executable, address=str(address)))
    stub.chmod(0o755)
    command = [sys.executable, Path(__file__).parents[1] / "doc_commands.py", address, models]
    with subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}) as server:
        while not address.exists():
            assert server.poll() is None
            time.sleep(0.05)
        yield folder
        server.terminate()


def _package_lists(data, step=10):
    """What ``apt-cache dumpavail`` prints of every tenth package: words stand for descriptions."""
    stanzas = []
    for i in range(0, data.X_train.shape[0], step):
        words = " ".join(data.feature_names[j] for j in data.X_train[[i]].indices)
        tags = ",\n ".join(data.label_names[j] for j in data.y_train[[i]].indices)
        name = data.row_names_train[i]
        stanzas.append(f"Package: {name}\nDescription: {words}\nTag: {tags}\nSize: 1\n")
    return "\n".join(stanzas)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_block_is_run_or_says_why_not(page):
    for fence in fences(page):
        where = f"{name_of(page)}, line {fence.line}"
        if fence.reason:
            continue
        if fence.kind == "python":
            assert ">>> " in fence.text, f"{where}: Python that no doctest runs"
        elif not fence.kind.startswith("{"):
            assert fence.kind in _NOT_CODE | {"sh"}, f"{where}: a block of {fence.kind!r}"


@pytest.mark.parametrize("page", _WITH_SHELL, ids=name_of)
def test_shell_blocks(page, debtags_files, forking_swnn, tmp_path):
    if module := lacks(page, shell=True):
        pytest.skip(f"left out: there is no {module}; make test-extras has it")
    blocks = fences(page)
    if "curl " in "".join(f.text for f in blocks) and not shutil.which("curl"):
        pytest.skip("left out: there is no curl")
    for file in debtags_files.iterdir():
        (tmp_path / file.name).symlink_to(file)
    services = "swnn serve" in "".join(f.text for f in blocks if f.kind == "sh")
    path = [] if services else [forking_swnn]
    ports = _free_ports()
    with contextlib.ExitStack() as stack:
        for fence, following in zip(blocks, [*blocks[1:], None], strict=True):
            if fence.kind != "sh" or fence.reason:
                continue
            where = f"{name_of(page)}, line {fence.line}"
            printed = _run(_with(ports, fence.text), tmp_path, path, where, stack)
            if following and following.kind == "text":
                _compare(_with(ports, following.text), printed, where)


def _run(script, folder, path, where, stack):
    path = os.pathsep.join(map(str, [*path, Path(sys.executable).parent, os.environ["PATH"]]))
    env = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"}
    shell = stack.enter_context(
        subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )
    )  # fmt: skip
    stack.callback(_end, shell.pid)
    printed, complaints = shell.communicate(timeout=300)
    assert shell.returncode == 0, f"{where}: {complaints}"
    return printed


def _end(group):
    """End what a block has left running."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _free_ports():
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in _PORTS]
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        free = [str(listener.getsockname()[1]) for listener in sockets]
    return dict(zip(_PORTS, free, strict=True))


def _with(ports, text):
    for known, free in ports.items():
        text = text.replace(f":{known}", f":{free}").replace(f"port {known}", f"port {free}")
    return text


def _compare(expected, printed, where):
    if not doctest.OutputChecker().check_output(expected, printed, _FLAGS):
        pytest.fail(f"{where}: expected\n{expected}\nbut got\n{printed}")
