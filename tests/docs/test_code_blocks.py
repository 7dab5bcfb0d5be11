"""Every example of the pages runs: Python by doctest (see pyproject.toml), shell blocks here.

A shell block runs in a folder of its page where debtags lies as text files. A block of text right
after it is what it must print, with ``...`` for what may differ. A block under a comment
``<!-- not run: why -->`` is left out.
"""

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest
from doc_fences import fences, name_of, pages

from swnn_xp import datasets, write_names, write_xmc

_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_NOT_CODE = {"", "text", "toml", "json"}
_WITH_SHELL = [p for p in pages() if any(f.kind == "sh" and not f.reason for f in fences(p))]


@pytest.fixture(scope="session")
def debtags_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("debtags")
    data = datasets.load("debtags")
    write_xmc(folder / "train.txt", data.X_train, data.Y_train)
    write_xmc(folder / "test.txt", data.X_test, data.Y_test)
    write_xmc(folder / "new.txt", data.X_test[:50], data.Y_test[:50])
    write_names(folder / "label_map.txt", data.label_names)
    write_names(folder / "feature_map.txt", data.feature_names)
    return folder


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
def test_shell_blocks(page, debtags_files, tmp_path):
    for file in debtags_files.iterdir():
        (tmp_path / file.name).symlink_to(file)
    blocks = fences(page)
    for fence, following in zip(blocks, [*blocks[1:], None], strict=True):
        if fence.kind != "sh" or fence.reason:
            continue
        printed = _run(fence.text, tmp_path, f"{name_of(page)}, line {fence.line}")
        if following and following.kind == "text":
            _compare(following.text, printed, f"{name_of(page)}, line {following.line}")


def _run(script, folder, where):
    here = Path(sys.executable).parent
    env = os.environ | {"PATH": f"{here}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder, env=env, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, f"{where}: {done.stderr}"
    return done.stdout


def _compare(expected, printed, where):
    if not doctest.OutputChecker().check_output(expected, printed, _FLAGS):
        pytest.fail(f"{where}: expected\n{expected}\nbut got\n{printed}")
