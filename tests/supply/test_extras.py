"""Every extra can be installed: none asks for a package in versions that exclude each other."""

import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[([^]]*)\])?\s*([^;]*)")

# What packages of our extras ask for against ours, found the hard way.
CONTRADICTS_OURS = {"libpecos": "numpy<2"}


def requirements(extra):
    """All requirements of an extra, those of the extras it includes and the core's."""
    for line in [*PROJECT["dependencies"], *(EXTRAS[extra] if extra else [])]:
        name, extras, versions = REQUIREMENT.match(line).groups()
        name = name.lower().replace("_", "-")
        if name == "swnn-xp":
            for included in extras.split(","):
                yield from requirements(included.strip())
        else:
            yield name, versions.strip()
            if name in CONTRADICTS_OURS:
                other, pin = re.match(r"(\w+)(.*)", CONTRADICTS_OURS[name]).groups()
                yield other, pin


def version(text):
    """Comparable: 2 and 2.0 are the same."""
    parts = [int(part) for part in text.split(".")]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def contradictions(pairs):
    """Packages whose lower bounds and pins exclude their upper bounds and pins."""
    bounds = defaultdict(list)
    for name, versions in pairs:
        bounds[name] += re.findall(r"(>=|==|<=|<|>|~=|!=)\s*([0-9.]+)", versions)
    return sorted(name for name, found in bounds.items() if not _satisfiable(found))


def _satisfiable(found):
    holds = {
        ">=": lambda a, b: a >= b,
        "==": lambda a, b: a == b,
        "<=": lambda a, b: a <= b,
        "<": lambda a, b: a < b,
        ">": lambda a, b: a > b,
        "~=": lambda a, b: a >= b and a[: len(b) - 1] == b[:-1],
        "!=": lambda a, b: a != b,
    }
    edges = {version(number) for _, number in found}
    candidates = edges | {(*edge, 1) for edge in edges} | {(0,)}
    return any(all(holds[op](c, version(n)) for op, n in found) for c in candidates)


@pytest.mark.parametrize("extra", EXTRAS)
def test_no_extra_contradicts_itself(extra):
    assert contradictions(requirements(extra)) == []


@pytest.mark.parametrize(
    ("pins", "expected"),
    [
        ([("numpy", ">=2.0"), ("numpy", "<2")], ["numpy"]),
        ([("a", "==1.2"), ("a", "==1.3")], ["a"]),
        ([("a", ">=1.2"), ("a", "<2")], []),
        ([("a", ">=1.2"), ("a", "")], []),
        ([("a", "==1.2.3"), ("a", ">=1.2")], []),
        ([("a", "~=1.2"), ("a", ">=2")], ["a"]),
    ],
)
def test_the_check_sees(pins, expected):
    assert contradictions(pins) == expected
