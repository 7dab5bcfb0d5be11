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


@pytest.mark.parametrize("page", ["README.md", "docs/start.md", "CONTRIBUTING.md"])
def test_pages_name_the_versions_of_python_that_the_project_takes(page):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    least, most = re.findall(r"Python (3\.\d+) to (3\.\d+)", (ROOT / page).read_text())[0]
    above = f"3.{int(most.split('.')[1]) + 1}"
    assert project["requires-python"] == f">={least},<{above}"
    tested = [line.split(" :: ")[-1] for line in project["classifiers"] if ":: 3." in line]
    assert (tested[0], tested[-1]) == (least, most)
