"""The shape of the code: imports point one way, files and parameter lists stay short."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import swnn_xp

ROOT = Path(swnn_xp.__file__).parent
LAYERS = ["rows", "search", "vote", "backends", "model", "_neighbour_estimator", "classifier"]
MOST_LINES, MOST_PARAMETERS = 400, 8
TOO_MANY_PARAMETERS = {"swnn_xp.tuning.search.tune", "swnn_xp.distributed.scoring.score_on_cluster"}
"""Still to be shortened: take a name out when it is."""


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {module_name(path): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}


def package(module, level):
    """What the dots of a relative import stand for."""
    if not level:
        return ""
    parts = module.split(".")
    is_package = (ROOT.parent / Path(*parts) / "__init__.py").exists()
    return ".".join(parts[: len(parts) - level + is_package]) + "."


def imported(module, tree):
    """Modules of this package that a module imports anywhere, also in functions and for types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package(module, node.level) + (node.module or "")
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield whole if whole in TREES else base


GRAPH = {
    name: {m for m in imported(name, tree) if m in TREES} - {name} for name, tree in TREES.items()
}


def test_no_cycles():
    try:
        list(TopologicalSorter(GRAPH).static_order())
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def layer(module):
    part = [*module.split("."), ""][1]
    return LAYERS.index(part) if part in LAYERS else None


def test_imports_point_to_lower_layers():
    wrong = [
        f"{module} imports {other}"
        for module, others in GRAPH.items()
        for other in others
        if layer(module) is not None
        and (layer(other) > layer(module) if layer(other) is not None else is_above(other))
    ]
    assert wrong == []


def is_above(module):
    """Packages that are built on the classifier."""
    above = {"bulk", "cli", "diagnostics", "distributed", "reproduce", "serve", "tuning"}
    return [*module.split("."), ""][1] in above


def test_underscored_modules_stay_in_their_package():
    wrong = []
    for module, others in GRAPH.items():
        for other in others:
            parts = other.split(".")
            hidden = next((i for i, part in enumerate(parts) if part.startswith("_")), None)
            home = ".".join(parts[:hidden])
            if hidden is not None and not f"{module}.".startswith(f"{home}."):
                wrong.append(f"{module} imports {other}")
    assert wrong == []


def test_files_are_short():
    lengths = {path: len(path.read_text().splitlines()) for path in ROOT.rglob("*.py")}
    assert [path for path, length in lengths.items() if length > MOST_LINES] == []


def test_parameter_lists_are_short():
    long = []
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
                names = [n for n in names if n not in ("self", "cls")]
                count = len(names) + len(node.args.kwonlyargs)
                if count > MOST_PARAMETERS:
                    long.append(f"{module}.{node.name}")
    assert set(long) <= TOO_MANY_PARAMETERS
