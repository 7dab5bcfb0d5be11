"""Random classification problems, small and full of ties, for the contract suite."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("SWNN_EXAMPLES", "60"))
"""Examples of a property; fewer where every kernel runs in an emulator."""


class Problem(NamedTuple):
    X: np.ndarray
    Y: np.ndarray
    Q: np.ndarray


@st.composite
def problems(draw):
    """Training rows, labels and queries; values from a small set, so that ties abound."""
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    n_labels, q = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = draw(
        st.sampled_from(
            [
                (0.0, 1.0),
                (0.0, 0.0, 1.0, 2.0),
                (0.0, 1.0, -1.0, 0.5),
                (0.0, 1e-300, 1e300, 3.0),
                tuple(np.concatenate([np.zeros(4), rng.normal(size=6)])),
            ]
        )
    )
    X = rng.choice(values, size=(n, d))
    Q = rng.choice(values, size=(q, d))
    if draw(st.booleans()):  # near-duplicates: rows equal to others and to queries
        X[rng.integers(n)] = X[rng.integers(n)]
        Q[rng.integers(q)] = X[rng.integers(n)]
    Y = (rng.random((n, n_labels)) < 0.4).astype(int)
    return Problem(X, Y, Q)


exponents = st.sampled_from([0, 1, 2, 0.5, 3.7])
exact_exponents = st.sampled_from([0, 1, 2])
