"""numba's internals stay behind the fence, and the kernels run without them."""

import ast
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


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_files_and_parameter_lists_are_short(path):
    assert len(path.read_text().splitlines()) <= 400
    for node in ast.walk(MODULES[module_of(path)]):
        if isinstance(node, ast.FunctionDef):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            names = [argument.arg for argument in every if argument.arg not in ("self", "cls")]
            assert len(names) <= 8, (node.name, names)


def run(code, **variables):
    """What a program printed."""
    environment = os.environ | variables
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


ANSWERS = """
import hashlib
import numpy as np
from swnn_kernels import *
from swnn_kernels import HybridIndex, Labels, Rows, Session, Settings, quantise, rank, search
from swnn_kernels._numba import IS_FULL
rng = np.random.default_rng(3)
there = rng.random((1500, 60)) < np.linspace(0.01, 0.6, 60)
indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
indices = np.nonzero(there)[1]
values = rng.lognormal(size=indices.size)
rows = Rows(indptr, indices, quantise(indptr, indices, values), 60)
index = HybridIndex.build(rows, frequent=0.1, fewest=1)
index.check()
labels = Labels.prepare(np.arange(1501), rng.integers(0, 30, 1500))
out = [*index.arrays().values(), *index.rows()[:3], *index.shared(5, np.arange(60))]
for beta in (0.0, 0.5, 1.0):
    for method in ("auto", "pruned", "exhaustive"):
        out += search(index, rows, 7, beta, method=method, removed=np.arange(1500) % 5 == 0)
out += rank(index, labels, rows, Settings(7, 1.0, 1.0), 3, n_jobs=2)
session = Session(index, labels, Settings(7, 1.0, 1.0), budget=1500)
for row in range(40):
    mine = slice(indptr[row], indptr[row + 1])
    out += session.predict_one(indices[mine], values[mine], 3)
    out += session.kneighbors_one(indices[mine], values[mine])
digest = hashlib.sha256()
for array in out:
    digest.update(array.tobytes())
print(IS_FULL, digest.hexdigest())
"""


def test_plain_numba_gives_the_same_bits(plain_numba):
    full = run(ANSWERS, SWNN_PLAIN_NUMBA="").split()
    plain = run(ANSWERS, **plain_numba).split()
    assert (full[0], plain[0]) == ("True", "False")
    assert full[1] == plain[1]


BROKEN = """
import warnings
import numba
numba.njit(lambda x: x)(1)  # numba itself is complete before the damage
{damage}
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import swnn_kernels
    assert swnn_kernels.available() is None
    quantised = swnn_kernels.quantise(np.array([0, 2]), np.array([0, 1]), np.array([3.0, 4.0]))
assert quantised.tolist() == [5033165, 6710886]
from swnn_kernels._numba import WHY_PLAIN
print(len([w for w in caught if "numba's internals have changed" in str(w.message)]), WHY_PLAIN)
"""
DAMAGES = {
    "a class is gone": "import numba.core.codegen as c; del c.JITCodeLibrary",
    "a function is gone": "import numba.np.arrayobj as a; del a.populate_array",
    "a decorator does nothing": (
        "import numba.core.imputils as i; i.lower_getattr_generic = lambda key: lambda f: f"
    ),
    "wrong numbers": (
        "import llvmlite.ir as ir; insert = ir.IRBuilder.insert_element;"
        "ir.IRBuilder.insert_element ="
        " lambda self, to, value, at: insert(self, to, ir.Constant(value.type, 0), at)"
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_changed_internal_means_plain_numba_and_one_warning(damage, tmp_path):
    said = run(BROKEN.format(damage=DAMAGES[damage]), NUMBA_CACHE_DIR=str(tmp_path))
    assert said.startswith("1 "), said
    assert ("returned wrong numbers" in said) == (damage == "wrong numbers")


def test_without_a_working_numba_there_is_one_clear_error():
    code = """
import numba

def njit(*args, **options):
    raise TypeError("no njit today")

numba.njit = njit
import warnings
warnings.simplefilter("ignore")
import swnn_kernels
print(swnn_kernels.available())
try:
    swnn_kernels.search
except ImportError as error:
    print(error)
"""
    reason = "numba cannot compile the kernels: TypeError: no njit today"
    assert run(code).splitlines() == [reason, reason]


def test_without_numba_there_is_one_clear_error():
    code = "import sys; sys.modules['numba'] = None; import swnn_kernels as k; print(k.available())"
    assert run(code).startswith("numba cannot be imported: ModuleNotFoundError: ")


def test_an_unusable_numba_is_tried_once_and_blamed_for_nothing_else():
    """No warning that the kernels run without numba's internals, if they do not run at all."""
    code = """
import warnings
import numba
tried = []

def njit(*args, **options):
    tried.append(1)
    raise TypeError("no njit today")

numba.njit = njit
import numpy as np
from swnn_xp import SWNNClassifier
counts = []
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(3):
        SWNNClassifier().fit(np.eye(2), np.eye(2))
        counts.append(len(tried))
print(len(set(counts)), [str(w.message)[:15] for w in caught])
"""
    assert run(code) == "1 [\"backend 'numba'\"]\n"


@pytest.mark.parametrize(("value", "is_full"), [("0", "True"), ("", "True"), ("1", "False")])
def test_the_switch_to_plain_numba(value, is_full, plain_numba):
    code = "from swnn_kernels._numba import IS_FULL; print(IS_FULL)"
    assert run(code, **plain_numba | {"SWNN_PLAIN_NUMBA": value}).strip() == is_full


def test_any_change_of_the_package_makes_cached_code_stale():
    code = """
from pathlib import Path
import swnn_kernels
from swnn_kernels._numba import caching
before = caching._package_stamp()
read = Path.read_bytes
Path.read_bytes = lambda self: read(self) + b"#" * self.match({pattern!r})
caching._package_stamp.cache_clear()
print(caching._package_stamp() != before)
"""
    for pattern in ("index/layout.py", "text/parse.py", "vote/votes.py", "fixed_point.py"):
        assert run(code.format(pattern=pattern)) == "True\n"


def test_every_entry_point_has_the_stamp():
    from swnn_kernels._numba.caching import KERNELS, _package_stamp

    names = {compiled.py_func.__name__ for compiled in KERNELS}
    assert {"parse_rows", "scaled", "_vote_all", "answer_pruned"} <= names
    for compiled in KERNELS:
        assert compiled._cache._cache_file._source_stamp.startswith(_package_stamp())
