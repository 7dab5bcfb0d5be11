"""What we depend on, as installed here: licences we accept, no version with a fault known to us.

Offline, in place of a vulnerability database: `LEAST` lists faults published up to 2025 of packages
that a service or a cluster pulls in. Extend it when another is published.
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
    "h11": "0.16.0",  # CVE-2025-43859: chunked bodies that other servers read otherwise
    "jinja2": "3.1.6",  # CVE-2025-27516: a way out of the sandbox
    "requests": "2.32.4",  # CVE-2024-47081: credentials sent to another host
    "starlette": "0.49.1",  # CVE-2025-62727: a Range header that takes quadratic time
    "tornado": "6.5.0",  # CVE-2025-47287: a log that a form can flood
    "urllib3": "2.6.0",  # CVE-2025-66418: endless chains of compression
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
def test_no_version_with_a_known_fault(name):
    try:
        version = distribution(name).version
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed here")
    assert Version(version) >= Version(LEAST[name])
