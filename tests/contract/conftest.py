"""The contract suite runs once for every backend that is usable here and each kind of its input.

A backend registers itself by its row in `swnn_xp.backends.BACKENDS`; nothing is to be done here.
"""

import contextlib

import pytest
from contract.subjects import NativeClassifier, NativeRanker, subjects


def pytest_generate_tests(metafunc):
    if "subject" in metafunc.fixturenames:
        metafunc.parametrize("subject", subjects(), ids=str, scope="module")


@pytest.fixture(scope="module")
def classifier(subject):
    """Make classifiers that run on the subject."""
    with running_on(subject, NativeClassifier) as make:
        yield make


@pytest.fixture(scope="module")
def ranker(subject):
    """Make rankers that run on the subject."""
    with running_on(subject, NativeRanker) as make:
        yield make


@contextlib.contextmanager
def running_on(subject, estimator):
    kind = type(estimator.__name__, (estimator,), {"subject": subject})

    def make(**params):
        return kind(backend=subject.backend, **params)

    with pytest.MonkeyPatch.context() as patch:
        if subject.backend == "cupy":
            from swnn_xp.backends import cupy_

            patch.setattr(cupy_, "_FIRST_BATCH", 3)  # so that few queries are several batches
            patch.setattr(cupy_, "_BATCH", 8)
            if subject.products:
                patch.setattr(cupy_, "kernels_fit", lambda rows: False)
        yield make
