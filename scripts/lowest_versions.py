"""Print the lowest versions that pyproject.toml allows, as constraints for pip: make test-min."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

# What the suite runs on; the other extras have suites of their own, in newer environments.
EXTRAS = ("plot", "test")
_LOWEST = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9.]+)")


def main() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in EXTRAS:
        wanted += project["optional-dependencies"][extra]
    for requirement in wanted:
        if match := _LOWEST.match(requirement):
            print(f"{match[1]}=={match[2]}")


if __name__ == "__main__":
    main()
