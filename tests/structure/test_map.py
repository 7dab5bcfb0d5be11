"""CONTRIBUTING's tables name files and functions that exist, and every package; so do the pages."""

import ast
import re

import pytest
from doc_fences import name_of, pages
from structure.imports import PACKAGES, ROOT
from structure.test_layout import LEVELS

MAP = ROOT / "CONTRIBUTING.md"
SUFFIXES = (".py", ".md", ".toml")
_SPAN = re.compile(r"`([^`\s]+)`")
_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)?")
# Folders at the top whose files pages name; what commands make is not there yet.
_PATH = re.compile(r"(?:swnn_xp|swnn_kernels|kernels|tests|docs|scripts|asv_benchmarks)/[\w./-]*")
_MADE = ("docs/_build", "docs/generated", ".asv/")


def tables(text):
    """The rows of each table as lists of cells; the head is the first."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        lines = [line.strip().strip("|") for line in block.splitlines()]
        yield [[cell.strip() for cell in line.split(" | ")] for line in (lines[0], *lines[2:])]


def is_path(span):
    return ("/" in span or span.endswith(SUFFIXES)) and not span.startswith(_MADE)


def base_of(head):
    """The folder that a table's head names: its paths may begin there."""
    named = [ROOT / span for span in _SPAN.findall(" ".join(head)) if is_path(span)]
    return named[0] if named else ROOT


def files_of(row, base):
    """The paths of a row, and those that do not exist.

    A path begins at the top, in the table's folder, or beside the one before it.
    """
    found, missing = [], []
    for span in filter(is_path, _SPAN.findall(" | ".join(row))):
        places = [ROOT, base]
        if found:
            places += [found[-1], found[-1].parent]
        there = [place / span for place in places if (place / span).exists()]
        (found if there else missing).append(there[0] if there else span)
    return found, missing


def defined_in(path):
    """Functions, classes, methods and module-level names of a file."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            members = node.body if isinstance(node, ast.ClassDef) else []
            names |= {f"{node.name}.{m.name}" for m in members if isinstance(m, ast.FunctionDef)}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def mistakes(text):
    """What the tables name that is not there."""
    for head, *rows in tables(text):
        base = base_of(head)
        for row in rows:
            files, missing = files_of(row, base)
            yield from missing
            sources = [path for path in files if path.suffix == ".py"]
            names = {span for span in _SPAN.findall(" ".join(row[1:])) if not is_path(span)}
            if sources and names:
                known = set().union(*map(defined_in, sources))
                yield from sorted(n for n in names if _NAME.fullmatch(n) and n not in known)


def test_the_tables_name_what_exists():
    assert not list(mistakes(MAP.read_text()))


def test_the_map_has_every_package_and_module():
    named = {
        path
        for head, *rows in tables(MAP.read_text())
        for row in rows
        for path in files_of(row, base_of(head))[0]
    }
    named |= {parent for path in named for parent in path.parents}
    there = {
        path
        for folder in PACKAGES.values()
        for path in folder.iterdir()
        if (path.suffix == ".py" and path.stem not in ("__init__", "__main__", "_version"))
        or (path / "__init__.py").is_file()
    }
    assert not sorted(str(path.relative_to(ROOT)) for path in there - named)


def test_the_table_of_the_library_has_the_order_of_the_layers():
    library = PACKAGES["swnn_xp"]
    (rows,) = (rows for head, *rows in tables(MAP.read_text()) if head == ["in `swnn_xp/`", "what"])
    levels = [LEVELS[path.stem] for row in rows for path in files_of(row[:1], library)[0]]
    assert levels == sorted(levels)


def test_targets_of_make_exist():
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    wanted = set(re.findall(r"`make ([a-z0-9-]+)", MAP.read_text()))
    assert wanted
    assert wanted <= targets


@pytest.mark.parametrize(
    "page", [MAP, ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *pages()], ids=name_of
)
def test_paths_in_prose_exist(page):
    spans = {span.rstrip("/") for span in _SPAN.findall(page.read_text()) if _PATH.fullmatch(span)}
    spans = {span for span in spans if not span.startswith(_MADE)}
    places = ROOT, ROOT / "kernels"
    assert not sorted(s for s in spans if not any((place / s).exists() for place in places))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            "| 1 | `swnn_xp/estimator.py` | `predict_topk`, then `Model.queries` |",
            ["Model.queries"],
        ),
        (
            "| 1 | `swnn_xp/model/model.py` | `Model.queries` of `swnn_xp/gone.py` |",
            ["swnn_xp/gone.py"],
        ),
        (
            "| 1 | `swnn_xp/io/`, `files.py` | `read` by `grammar.py`, `n_jobs` |",
            ["n_jobs", "read"],
        ),
        ("| `n_jobs` | no file | `anything` |", []),
    ],
)
def test_the_check_sees_mistakes(row, expected):
    assert list(mistakes(f"| a | b | c |\n|---|---|---|\n{row}\n")) == expected
