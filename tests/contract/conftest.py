"""The contract suite runs once for every backend that is usable here.

A backend registers itself by its row in `swnn_xp.backends.BACKENDS`; nothing is to be done here.
"""

import pytest

from swnn_xp.backends import BACKENDS


def pytest_generate_tests(metafunc):
    if "backend" in metafunc.fixturenames:
        usable = [name for name, backend in BACKENDS.items() if backend.missing() is None]
        metafunc.parametrize("backend", usable, scope="session")


@pytest.fixture(scope="session")
def classifier(backend):
    """Make classifiers that run on the backend."""
    from swnn_xp import SWNNClassifier

    def make(**params):
        return SWNNClassifier(backend=backend, **params)

    return make
