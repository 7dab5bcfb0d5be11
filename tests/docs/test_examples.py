"""docs/examples: commands of the unit and the Dockerfile are ours; the small backend is exact."""

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doc_fences import name_of, pages

from swnn_xp import SWNNClassifier, datasets
from swnn_xp.backends import BACKENDS
from swnn_xp.cli.main import make_parser

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def command_of_unit():
    unit = (EXAMPLES / "swnn.service").read_text()
    return shlex.split(re.search(r"^ExecStart=(.*)$", unit, re.M)[1])


def command_of_image():
    file = (EXAMPLES / "Dockerfile").read_text()
    return json.loads(re.search(r"^ENTRYPOINT (.*)$", file, re.M)[1])


@pytest.mark.parametrize("command", [command_of_unit(), command_of_image()], ids=["unit", "image"])
def test_commands_are_ours(command):
    assert Path(command[0]).name == "swnn"
    args = make_parser().parse_args(command[1:])
    assert args.access_log


def test_the_image_installs_an_extra_of_ours():
    file = (EXAMPLES / "Dockerfile").read_text()
    project = (EXAMPLES.parents[1] / "pyproject.toml").read_text()
    extra = re.search(r"'\.\[(\w+)\]'", file)[1]
    assert re.search(rf"^{extra} = \[", project, re.M)
    assert re.search(r"requires-python = \">=3.11", project)
    assert re.search(r"^FROM python:3\.1[1-4]", file, re.M)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="left out: there is no systemd")
def test_the_unit_is_valid(tmp_path):
    unit = (EXAMPLES / "swnn.service").read_text()
    copy = tmp_path / "swnn.service"
    copy.write_text(unit.replace(command_of_unit()[0], sys.executable))
    command = ["systemd-analyze", "verify", "--man=no", copy]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_small_backend_agrees_to_the_bit(monkeypatch):
    place = importlib.util.spec_from_file_location("dense_backend", EXAMPLES / "dense_backend.py")
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    monkeypatch.setitem(BACKENDS, "dense", module.DENSE)
    data = datasets.load("debtags")

    def answers(backend):
        clf = SWNNClassifier(backend=backend).fit(data.X_train[:300], data.y_train[:300])
        clf.partial_fit(data.X_train[300:320], data.y_train[300:320]).remove([7, 310])
        return [*clf.kneighbors(data.X_test[:20]), *clf.predict_topk(data.X_test[:20])]

    for one, other in zip(answers("dense"), answers("numba"), strict=True):
        assert (one == other).all()


_NAMED = re.compile(r"names_?\[(\w+)\] for \1 in [^\n]*labels[^\n]*")


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_no_example_names_a_label_for_an_empty_slot(page):
    """`names[-1]` is the name of the last label: -1 stands for no label."""
    for found in _NAMED.finditer(page.read_text()):
        assert ">= 0" in found[0], found[0]
