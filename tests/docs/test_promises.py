"""Every promise has its row, written by a command that exists, and the page shows it."""

import json
import re

import pytest
from promises import END, FOLDER, PAGE, PROMISES, ROOT, keep, table


def test_the_page_shows_the_records():
    assert f"{table()}\n{END}" in PAGE.read_text(), "run: make promises"


def test_every_promise_has_a_record_and_every_record_a_promise():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(PROMISES)


@pytest.mark.parametrize("name", PROMISES)
def test_a_record_is_complete_and_its_command_exists(name):
    record = json.loads((FOLDER / f"{name}.json").read_text())
    assert set(record) == {"claim", "command", "figure", "date", "commit"}
    assert (record["claim"], record["command"]) == PROMISES[name]
    assert re.fullmatch(r"2\d\d\d-\d\d-\d\d", record["date"])
    assert re.search(r"\d", record["figure"])
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert record["command"].split()[0] == "make"
    assert record["command"].split()[1] in targets


def test_keeping_a_promise_renews_the_page(tmp_path):
    page = tmp_path / "promises.md"
    page.write_text(PAGE.read_text())
    name = next(iter(PROMISES))
    keep(name, "1,234 answers", tmp_path, page)
    assert "| 1,234 answers | " in page.read_text()
    assert page.read_text().split(END)[1] == PAGE.read_text().split(END)[1]
