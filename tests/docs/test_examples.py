"""The unit and the Dockerfile of docs/examples: their commands are ours, the unit is valid."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
