"""Figures of the pages: recorded as data, rendered between marks, never written by hand."""

import importlib
import json
import sys

import pytest
from benchmarks.loading import ASV

MODULES = ("adapters", "page", "recorded", "render", "results", "tables")


@pytest.fixture
def render(monkeypatch):
    monkeypatch.syspath_prepend(str(ASV / "figures"))
    yield importlib.import_module("render")
    for name in list(sys.modules):
        if name.split(".")[0] in MODULES:
            sys.modules.pop(name)


def test_pages_show_the_figures_of_the_files(render):
    """`make figures` was run after the last measurement."""
    for page in render.pages():
        text = page.read_text(encoding="utf-8")
        assert render.rendered(text) == text, f"{page.name}: run make figures"


def test_every_table_is_on_a_page(render):
    shown = {m[2] for page in render.pages() for m in render.MARKED.finditer(page.read_text())}
    assert shown == set(render.TABLES)


def test_rows_replace_those_with_the_same_key(render, monkeypatch, tmp_path):
    recorded = importlib.import_module("recorded")
    monkeypatch.setattr(render, "main", lambda: None)
    rows = [{"dataset": "a", "ms": 1.0}, {"dataset": "b", "ms": 2.0}]
    recorded.record("times", rows, ("dataset",), tmp_path)
    assert not (tmp_path / "times.json").exists()  # only with WRITE=1
    monkeypatch.setenv("WRITE", "1")
    recorded.record("times", rows, ("dataset",), tmp_path)
    recorded.record("times", [{"dataset": "a", "ms": 3.0}], ("dataset",), tmp_path)
    found = recorded.read("times", tmp_path)
    assert [(row["dataset"], row["ms"]) for row in found] == [("a", 3.0), ("b", 2.0)]
    assert all(row["date"] and row["machine"] for row in found)
    assert json.loads((tmp_path / "times.json").read_text()) == found


def test_tables_have_cells_for_every_column(render):
    for name, table in render.TABLES.items():
        block = []
        for line in [*table().splitlines(), ""]:
            if line.startswith("|"):
                block.append(line.count("|"))
            elif block:
                assert len(set(block)) == 1, name
                block = []
