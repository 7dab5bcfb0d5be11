"""numba's internals stay behind the fence; where they have changed there is one clear error."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import swnn_kernels

PACKAGE = Path(swnn_kernels.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))


def module_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): ast.parse(path.read_text()) for path in SOURCES}


def imported(tree):
    """Modules that a source imports anywhere, names of the package's modules in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else node.module for name in names)


@pytest.mark.parametrize("name", [name for name in MODULES if "._numba" not in name])
def test_only_the_fence_imports_numba(name):
    roots = {module.split(".")[0] for module in imported(MODULES[name])}
    assert not roots & {"numba", "llvmlite"}


def test_imports_point_one_way():
    # The package itself imports lazily: what it offers is not a part of the graph.
    graph = {
        name: {i for i in imported(tree) if i in MODULES and i != name}
        for name, tree in MODULES.items()
        if name not in ("swnn_kernels", "swnn_kernels._numba")
    }
    order = []
    while graph:
        free = [name for name, needs in graph.items() if not needs & graph.keys()]
        assert free, f"a cycle among {sorted(graph)}"
        order += free
        graph = {name: needs for name, needs in graph.items() if name not in free}
    rooms = ("_numba", "records", "index", "vote", "neighbours", "answer")
    for name, tree in MODULES.items():
        room = name.split(".")[1:2]
        for needed in imported(tree):
            other = needed.split(".")[1:2]
            if needed in MODULES and room and other and {*room, *other} <= set(rooms):
                assert rooms.index(other[0]) <= rooms.index(room[0]), (name, needed)


def run(code, **variables):
    """What a program printed."""
    environment = os.environ | variables
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


DAMAGES = {
    "numba is missing": ("import sys; sys.modules['numba'] = None", "ModuleNotFoundError"),
    "a class is gone": (
        "import numba.core.codegen as c; del c.JITCodeLibrary",
        "AttributeError: module 'numba.core.codegen' has no attribute 'JITCodeLibrary'",
    ),
    "a function is gone": (
        "import numba.np.arrayobj as a; del a.populate_array",
        "AttributeError: module 'numba.np.arrayobj' has no attribute 'populate_array'",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_without_a_working_numba_there_is_one_clear_error(damage):
    code, reason = DAMAGES[damage]
    code += """
import swnn_kernels
print(swnn_kernels.available())
try:
    swnn_kernels.search
except ImportError as error:
    print(error)
"""
    first, second = run(code).splitlines()
    assert first == second
    assert first.startswith(f"numba cannot be used: {reason}")


def test_an_unusable_numba_is_tried_once_and_numpy_answers():
    code = """
import types
import warnings
import numba.core.codegen
tried = []

class Damaged(types.ModuleType):
    def __getattr__(self, name):
        tried.append(name)
        raise AttributeError(name)

numba.core.codegen.__class__ = Damaged
del numba.core.codegen.JITCodeLibrary
import numpy as np
from swnn_xp import SWNNClassifier
counts = []
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(3):
        clf = SWNNClassifier().fit(np.eye(2), np.eye(2))
        counts.append(tried.count("JITCodeLibrary"))
print(clf.backend_, counts, [str(w.message)[:15] for w in caught])
"""
    assert run(code) == "numpy [1, 1, 1] [\"backend 'numba'\"]\n"


COMPILES = """
import sys
import numpy as np
from swnn_kernels import quantise
from swnn_kernels._numba.decorators import _announce
if "windowed" in sys.argv:
    sys.stderr = None
for dtype in (np.int32, np.int64):
    quantise(np.array([0, 1], np.int64), np.array([0], dtype), np.array([3.0]))
from swnn_kernels.parse import powers_of_five, scaled
scaled(np.uint64(1), 0, powers_of_five())
"""


def stderr_of(code, *arguments, **variables):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        env=os.environ | variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stderr


def test_a_process_that_compiles_says_so_once(tmp_path):
    assert stderr_of(COMPILES, "windowed", NUMBA_CACHE_DIR=str(tmp_path / "windowed")) == ""
    cold = {"NUMBA_CACHE_DIR": str(tmp_path / "cold")}
    line = "swnn: compiling once for this machine, about 15 s ...\n"
    assert stderr_of(COMPILES, **cold) == line
    assert stderr_of(COMPILES, **cold) == ""


def test_without_a_folder_for_compiled_code_the_variable_that_helps_is_named(tmp_path):
    code = """
from swnn_kernels._numba import decorators
decorators.cache_folder = lambda: None
"""
    assert stderr_of(code + COMPILES, NUMBA_CACHE_DIR=str(tmp_path)) == (
        "swnn: compiling again, about 15 s: no cache folder is writable "
        "(NUMBA_CACHE_DIR can name one) ...\n"
    )


def test_any_change_of_the_package_makes_cached_code_stale():
    code = """
from pathlib import Path
import swnn_kernels
from swnn_kernels._numba import decorators
before = decorators._package_stamp()
read = Path.read_bytes
Path.read_bytes = lambda self: read(self) + b"#" * self.match({pattern!r})
decorators._package_stamp.cache_clear()
print(decorators._package_stamp() != before)
"""
    for pattern in ("index/arrays.py", "parse.py", "vote.py", "fixed_point.py"):
        assert run(code.format(pattern=pattern)) == "True\n"


def test_every_entry_point_has_the_stamp():
    importlib.import_module("swnn_kernels.warming")  # it imports all of them
    from swnn_kernels._numba.decorators import KERNELS, _package_stamp

    names = {compiled.py_func.__name__ for compiled in KERNELS}
    assert {"parse_rows", "scaled", "_vote_all", "answer_pruned"} <= names
    for compiled in KERNELS:
        assert compiled._cache._cache_file._source_stamp.startswith(_package_stamp())
