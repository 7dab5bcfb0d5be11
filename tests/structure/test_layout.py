"""The layout that CONTRIBUTING.md draws: layers, no cycles, private modules."""

from __future__ import annotations

import ast

import pytest
from structure.imports import cycles, import_graph, imports_of, module_files

# From the bottom to the top: a module imports its own package and the layers below it.
LAYERS = (
    {"swnn_kernels"},
    {"_version", "checks", "notebook", "progress", "results", "sklearn_api"},
    {"rows"},
    {"search"},
    {"capped"},
    {"vote"},
    {"backends"},
    {"io", "store", "metrics", "summary"},
    {"text"},
    {"model"},
    {"learn"},
    {"estimator"},  # what the estimators share
    {"classifier", "ranker", "learned_weights"},
    {"loading"},
    {"datasets", "bulk"},
    {"diagnostics"},
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


def test_private_owner():
    assert private_owner("swnn_xp.a._b") == "swnn_xp.a"
    assert private_owner("swnn_xp._a.b") == "swnn_xp"
    assert private_owner("swnn_xp.a.b") is None
