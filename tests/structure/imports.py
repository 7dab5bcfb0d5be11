"""The modules of the two packages and what each of them imports, read from the sources."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"swnn_xp": ROOT / "swnn_xp", "swnn_kernels": ROOT / "kernels" / "swnn_kernels"}


def module_files() -> dict[str, Path]:
    """Every module's name and file."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imports_of(tree: ast.AST, module: str, is_package: bool, known: set[str]) -> set[str]:
    """Modules of ours that a module imports anywhere: at its top, in functions, for type checks."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {_longest_module(name.name, known) for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module, is_package)
            found |= {_longest_module(f"{base}.{name.name}", known) for name in node.names}
    return {name for name in found if name}


def import_graph() -> dict[str, set[str]]:
    """For each module, the modules that it imports."""
    files = module_files()
    return {
        name: imports_of(ast.parse(path.read_text()), name, path.name == "__init__.py", set(files))
        for name, path in files.items()
    }


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach each other by imports."""
    reach = {name: _reachable(graph, name) for name in graph}
    groups = {
        tuple(sorted(other for other in reach[name] if name in reach[other]))
        for name in graph
        if name in reach[name]
    }
    return [list(group) for group in sorted(groups)]


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for name in graph[waiting.pop()] - seen:
            seen.add(name)
            waiting.append(name)
    return seen


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parents = module.split(".")
    base = parents[: len(parents) - node.level + is_package]
    return ".".join([*base, *([node.module] if node.module else [])])


def _longest_module(name: str, known: set[str]) -> str:
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name
