"""Every record has its row, written by a command that exists, and the page shows it."""

import json
import re

import pytest
from promises import END, FOLDER, PAGE, PROMISES, ROOT, keep, table


def test_the_page_shows_the_records():
    assert f"{table()}\n{END}" in PAGE.read_text(), "run: make promises"


RECORDS = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


def test_every_record_belongs_to_a_promise():
    assert RECORDS
    assert set(RECORDS) <= set(PROMISES)


@pytest.mark.parametrize("name", PROMISES)
def test_the_command_of_a_promise_exists(name):
    make, target = PROMISES[name].command.split()
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert make == "make"
    assert target in targets


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_complete(name):
    record = RECORDS[name]
    assert set(record) == {"claim", "command", "figure", "date", "commit"}
    assert (record["claim"], record["command"]) == PROMISES[name]
    assert re.fullmatch(r"2\d\d\d-\d\d-\d\d", record["date"])
    assert re.search(r"\d", record["figure"])


@pytest.mark.parametrize("name", PROMISES)
def test_keeping_a_promise_renews_the_page(name, tmp_path):
    page = tmp_path / "promises.md"
    page.write_text(PAGE.read_text())
    keep(name, "1,234 answers", tmp_path, page)
    assert "| 1,234 answers | " in page.read_text()
    assert page.read_text().split(END)[1] == PAGE.read_text().split(END)[1]
