"""What a release must say in more than one place."""

import re
import tomllib
from pathlib import Path

import pytest

from swnn_xp import __version__

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("packaging/conda/recipe.yaml", r'^  version: "(.+)"$'),
    ],
)
def test_versions_agree(path, pattern):
    assert re.findall(pattern, (ROOT / path).read_text(), re.MULTILINE) == [__version__]


def test_recipe_has_the_dependencies_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text()
    needed = {f"python {project['requires-python']}", *project["dependencies"]}
    run = recipe.split("  run:\n")[1].split("\n\n")[0]
    assert {line.strip("- ").replace(" ", "") for line in run.splitlines()} == {
        each.replace(" ", "") for each in needed
    }
