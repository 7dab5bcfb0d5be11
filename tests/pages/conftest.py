"""A small data set with awkward names, and its page."""

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp.pages import summary_page
from swnn_xp.summary import count

LABELS = [
    "red",
    "green",
    "dark red",
    "</script><script>document.title='hacked'</script>",
    "ø & <b>",
]


@pytest.fixture(scope="session")
def counts():
    rng = np.random.default_rng(1)
    X = sp.random_array((90, 30), density=0.3, rng=rng, format="csr")
    share = np.asarray([0.9, 0.5, 0.6, 0.2, 0.1])
    return count(X, sp.csr_array((rng.random((90, 5)) < share).astype(np.int8)))


@pytest.fixture(scope="session")
def page(counts):
    words = [f"word{i}" for i in range(30)]
    return summary_page(counts, "colours & <more>.txt", label_names=LABELS, feature_names=words)
