"""Recorded results: neutral names, whoever made the environment; old commits beside the newest."""

import importlib
import json
import sys

import pytest
from benchmarks.loading import ASV

pytest.importorskip("asv", reason="left out: asv is not installed")

COMMIT = "0123456789abcdef"


@pytest.fixture
def record(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ASV))
    record = importlib.import_module("record")
    monkeypatch.setattr(record, "HERE", tmp_path / "asv_benchmarks")
    yield record
    sys.modules.pop("record")


@pytest.fixture
def write(record):
    def write(environment, requirements, results):
        folder = record.HERE / "results" / "machine"
        folder.mkdir(parents=True, exist_ok=True)
        params = {"arch": "x86_64", "python": "/home/me/python"} | requirements
        result = {"commit_hash": COMMIT, "env_name": environment, "python": "/home/me/python"}
        result |= {"params": params, "requirements": requirements, "results": results}
        (folder / f"{COMMIT[:8]}-{environment}.json").write_text(json.dumps(result))
        return folder

    return write


@pytest.mark.parametrize("environment", ["existing-py_home_me_python", "virtualenv-py3.11-a"])
def test_results_of_any_environment_join_one_line(record, write, environment):
    write(record.NEUTRAL, {}, {"kept": [1], "again": [2]})
    folder = write(environment, {"a": "1"}, {"again": [3]})
    assert record.neutralise("machine") == 1
    (path,) = folder.iterdir()
    assert path.name == f"01234567-{record.NEUTRAL}.json"
    result = json.loads(path.read_text())
    assert result["results"] == {"kept": [1], "again": [3]}
    assert result["params"] == {"arch": "x86_64", "python": record.VERSION}
    assert (result["env_name"], result["requirements"]) == (record.NEUTRAL, {})


def test_old_commits_run_beside_the_newest(record, monkeypatch):
    history = [f"c{i}" for i in range(100)]
    monkeypatch.setattr(record, "git", lambda *_: "\n".join(history))
    assert record.old_commits(["a", "b"]) == ["--no-walk c0 a b"]
    (spread,) = record.old_commits([])
    assert spread.split()[1] == "c0"
    assert spread.split()[-1] == record.FIRST
    assert len(set(spread.split()[1:])) == 10
