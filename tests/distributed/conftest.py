"""One small cluster of processes for all tests of the folder, and a problem full of ties."""

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, write_xmc
from swnn_xp.distributed import connect

S = 20


@pytest.fixture(scope="session")
def client():
    with connect("local:2") as client:
        yield client


@pytest.fixture(scope="session")
def problem():
    """Rows of equal values over few features: most similarities tie with others."""
    rng = np.random.default_rng(7)
    X = sp.random_array((1201, 40), density=0.1, rng=rng, format="csr", dtype=np.float32)
    X.data[:] = 1
    Y = sp.csr_array((rng.random((1201, 30)) < 0.1).astype(np.int8))
    return X, Y


@pytest.fixture(scope="session")
def single(problem):
    """The answer that every layout must give."""
    return SWNNClassifier(n_neighbors=S, alpha=1, beta=1).fit(*problem)


@pytest.fixture
def train_file(problem, tmp_path):
    path = tmp_path / "train.txt"
    write_xmc(path, *problem)
    return path
