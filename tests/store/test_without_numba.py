"""A model that numba wrote opens where numba can't be used."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from store import damage

from swnn_kernels import HybridIndex, Rows, quantise
from swnn_kernels.index import decode_rows
from swnn_xp import SWNNClassifier

VERSION_1 = Path(__file__).parent / "version_1"

OPEN = """
import sys, warnings
sys.modules["numba"] = None
import numpy as np
from swnn_xp import SWNNClassifier
folder, backend, answers = sys.argv[1:]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        clf = SWNNClassifier.load(folder, backend=backend, verify=True)
assert [str(w.message)[:20] for w in caught] == ["backend 'numba' need"], caught
with np.load(answers) as stored:
    labels, scores = clf.predict_topk(stored["X"], k=stored["labels"].shape[1])
    assert (labels == stored["labels"]).all() and (scores == stored["scores"]).all()
try:
    SWNNClassifier.load(folder, backend="numba")
except ImportError as error:
    print(clf.backend_, error)
"""


def opened(folder, backend, answers):
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(folder), backend, str(answers)],
        env=os.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_a_saved_model_opens(tmp_path, backend):
    X = damage.models(tmp_path)
    clf = SWNNClassifier.load(tmp_path / "numba")
    labels, scores = clf.predict_topk(X, k=4)
    np.savez(tmp_path / "answers.npz", X=X.toarray(), labels=labels, scores=scores)
    said = opened(tmp_path / "numba", backend, tmp_path / "answers.npz")
    assert said.startswith("numpy backend 'numba' needs numba")


def test_a_model_of_the_first_format_opens():
    assert opened(VERSION_1 / "numba", "auto", VERSION_1 / "answers.npz").startswith("numpy ")


def an_index(seed, **options):
    rng = np.random.default_rng(seed)
    there = rng.random((1300, 40)) < np.linspace(0, 0.7, 40)
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    indices = np.nonzero(there)[1]
    values = rng.normal(size=indices.size)
    return HybridIndex.build(
        Rows(indptr, indices, quantise(indptr, indices, values), 40), **options
    )


@pytest.mark.parametrize("options", [{}, {"frequent": 0.1, "fewest": 1}, {"frequent": 2.0}])
def test_the_decoder_gives_what_the_kernels_give(options):
    index = an_index(1, **options)
    for found, expected in zip(decode_rows(index.arrays()), index.rows(), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_damaged_arrays_are_refused_or_give_rows():
    index = an_index(2, frequent=0.1, fewest=1)
    refused = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        arrays = index.arrays()
        name = sorted(arrays)[seed % len(arrays)]
        try:
            rows = decode_rows(arrays | {name: damage.altered(rng, arrays[name])})
        except ValueError:
            refused += 1
        else:
            assert rows.indices.size == rows.indptr[-1] == index.nnz
    assert refused > 30
