"""The layout that CONTRIBUTING.md draws: layers, no cycles, private modules, small pieces."""

from __future__ import annotations

import ast

import pytest
from structure.imports import PACKAGES, ROOT, cycles, import_graph, imports_of, module_files

MOST_PARAMETERS = 8
MOST_LINES = 400

# From the bottom to the top: a module imports its own package and the layers below it.
LAYERS = (
    {"swnn_kernels"},
    {"_version", "_checks", "_estimator", "_feature_space", "_html", "_progress", "results"},
    {"rows"},
    {"search"},
    {"vote"},
    {"backends"},
    {"io", "store", "metrics", "summary"},
    {"text"},
    {"model"},
    {"learn"},
    {"_fitted_estimator"},
    {"_predicting_estimator"},
    {"_neighbour_estimator"},  # what the estimators share
    {"_relearning"},
    {"classifier", "ranker", "learned_weights"},
    {"loading"},
    {"datasets", "bulk", "diagnostics"},
    {"tuning", "distributed", "serve"},
    {"reproduce"},
    {"pages"},
    {"__init__"},  # what `import swnn_xp` gives
    {"cli"},
    {"__main__"},  # `python -m swnn_xp`
)
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}


@pytest.fixture(scope="module")
def graph():
    return import_graph()


def package_of(module):
    """The layer's entry that a module belongs to."""
    first, _, rest = module.partition(".")
    return first if first == "swnn_kernels" else rest.split(".")[0] or "__init__"


def test_no_import_cycle(graph):
    found = cycles(graph)
    assert not found, "\n".join(["", *map(str, found)])


def test_private_modules_stay_private(graph):
    """A module a.b._c is imported only by modules under a.b."""
    broken = sorted(
        f"{module} imports {imported}"
        for module, names in graph.items()
        for imported in names
        if (owner := private_owner(imported)) and not f"{module}.".startswith(f"{owner}.")
    )
    assert not broken, "\n".join(["", *broken])


def private_owner(module):
    """The package that a private module, or a module of a private package, belongs to."""
    parts = module.split(".")
    private = [i for i, part in enumerate(parts) if part.startswith("_")]
    return ".".join(parts[: private[0]]) if private else None


def test_every_package_has_a_layer_and_every_layer_a_package():
    assert {package_of(module) for module in module_files()} == set(LEVELS)


def test_imports_point_down(graph):
    broken = sorted(
        f"{module} imports {imported}"
        for module, names in graph.items()
        for imported in names
        if package_of(module) != package_of(imported)
        and LEVELS[package_of(imported)] >= LEVELS[package_of(module)]
    )
    assert not broken, "\n".join(["", *broken])


def parameters(function):
    """Names of a function's parameters, without self and cls."""
    given = function.args
    names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    names += [arg.arg for arg in (given.vararg, given.kwarg) if arg is not None]
    return [name for name in names if name not in ("self", "cls")]


def functions(tree, inside=""):
    """Functions with their qualified names; __init__ of estimators is left out.

    scikit-learn wants every parameter of an estimator in its __init__.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            estimator = isinstance(tree, ast.ClassDef) and any(
                ast.unparse(base).endswith("Estimator") for base in tree.bases
            )
            if not (estimator and node.name == "__init__"):
                yield f"{inside}{node.name}", node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from functions(node, f"{inside}{node.name}.")
        else:
            yield from functions(node, inside)


def long_lists(text):
    """Functions of a source with too many parameters, and how many they have."""
    found = {name: len(parameters(function)) for name, function in functions(ast.parse(text))}
    return {name: count for name, count in found.items() if count > MOST_PARAMETERS}


def test_no_long_parameter_lists():
    found = {
        f"{module}.{name}": count
        for module, path in module_files().items()
        for name, count in long_lists(path.read_text()).items()
    }
    assert not found, "\n".join(["", *(f"{name}: {count}" for name, count in found.items())])


def test_no_long_files():
    folders = [*PACKAGES.values(), ROOT / "tests"]
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines())
        for folder in folders
        for path in folder.rglob("*.py")
    }
    assert len(lengths) > 200
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import swnn_xp.a", {"swnn_xp.a"}),
        ("from swnn_xp import a, Thing", {"swnn_xp.a", "swnn_xp"}),
        ("from swnn_xp.a import Thing", {"swnn_xp.a"}),
        ("from . import b", {"swnn_xp.a.b"}),
        ("from .b import Thing", {"swnn_xp.a.b"}),
        ("from .. import Thing", {"swnn_xp"}),
        ("def f():\n    from swnn_xp.a import b", {"swnn_xp.a.b"}),
        ("if TYPE_CHECKING:\n    import swnn_xp.a.b", {"swnn_xp.a.b"}),
        ("import numpy", set()),
    ],
)
def test_the_scan_sees_imports(text, expected):
    known = {"swnn_xp", "swnn_xp.a", "swnn_xp.a.b"}
    assert imports_of(ast.parse(text), "swnn_xp.a", True, known) == expected


def test_the_scan_sees_cycles():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}, "e": set()}
    assert cycles(graph) == [["b", "c"], ["d"]]


def test_the_scan_counts_parameters():
    nine = "p1, p2, p3, /, p4, p5, *p6, p7, p8, **p9"
    assert long_lists(f"def f({nine}): pass") == {"f": 9}
    assert long_lists(f"class C:\n def f(self, {nine}): pass") == {"C.f": 9}
    assert long_lists(f"class C(Estimator):\n def __init__(self, {nine}): pass") == {}
    assert long_lists(f"class C:\n def f(self, {nine.replace(', **p9', '')}): pass") == {}


def test_private_owner():
    assert private_owner("swnn_xp.a._b") == "swnn_xp.a"
    assert private_owner("swnn_xp._a.b") == "swnn_xp"
    assert private_owner("swnn_xp.a.b") is None
