"""What we depend on, as installed here: licences we accept, no version with a fault listed below.

`LEAST` has some published faults of packages that a service or a cluster pulls in. It was written
by hand and is not complete: it replaces no vulnerability database.
"""

import re
from importlib.metadata import PackageNotFoundError, distribution

import pytest

packaging = pytest.importorskip("packaging")
from packaging.requirements import Requirement  # noqa: E402
from packaging.version import Version  # noqa: E402

PERMISSIVE = re.compile(
    r"MIT|BSD|0BSD|Apache|PSF|Python Software Foundation|ISC|Zlib|CC0|MPL|Mozilla Public License"
)
FORBIDDEN = re.compile(r"(?<!L)GPL|AGPL|SSPL|BUSL|proprietary", re.IGNORECASE)
LEAST = {
    "h11": "0.16.0",  # CVE-2025-43859: malformed chunked bodies are accepted
    "jinja2": "3.1.6",  # CVE-2025-27516: a template can leave the sandbox
    "requests": "2.32.4",  # CVE-2024-47081: credentials of .netrc sent to another host
    "starlette": "0.49.1",  # CVE-2025-62727: a Range header that takes quadratic time
    "tornado": "6.5.0",  # CVE-2025-47287: a malformed form floods the log
    "urllib3": "2.6.0",  # CVE-2025-66418: any number of nested compressions
}


def closure(name, extras=frozenset()):
    """Names of what a package needs, with what those need, as far as it is installed."""
    found, left, seen = set(), [(name, extras)], set()
    while left:
        name, extras = left.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        found.add(name.lower().replace("_", "-"))
        for need in map(Requirement, needs):
            markers = [{"extra": extra} for extra in (*extras, "")]
            if need.marker is None or any(need.marker.evaluate(each) for each in markers):
                left.append((need.name, frozenset(need.extras)))
    return found


DEPENDENCIES = sorted(closure("swnn-xp", frozenset({"serve", "dask", "text", "parquet"})))


def licence_of(name):
    """What the metadata says: an expression, classifiers, or a few words."""
    found = distribution(name).metadata
    classifiers = [c for c in found.get_all("Classifier") or [] if c.startswith("License ::")]
    return found.get("License-Expression") or " ".join(classifiers) or found.get("License") or ""


def test_the_closure_reaches_what_we_know_we_need():
    assert {"swnn-xp", "numpy", "scipy", "numba", "llvmlite"} <= set(DEPENDENCIES)


@pytest.mark.parametrize("name", DEPENDENCIES)
def test_licences(name):
    licence = licence_of(name)
    assert PERMISSIVE.search(licence), licence[:200]
    assert not FORBIDDEN.search(licence[:500]), licence[:200]


@pytest.mark.parametrize("name", sorted(LEAST))
def test_no_version_with_a_listed_fault(name):
    try:
        version = distribution(name).version
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed here")
    assert Version(version) >= Version(LEAST[name])
