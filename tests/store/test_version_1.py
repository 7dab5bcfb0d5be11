"""Models of the first file format open and answer as they did; a save brings them up to date."""

import json
from pathlib import Path

import numpy as np
import pytest

from swnn_xp import SWNNClassifier

FOLDER = Path(__file__).parent / "version_1"


@pytest.fixture(scope="module")
def answers():
    with np.load(FOLDER / "answers.npz") as stored:
        return {name: stored[name] for name in ("X", "labels", "scores")}


def check_answers(clf, answers):
    labels, scores = clf.predict_topk(answers["X"], k=answers["labels"].shape[1])
    np.testing.assert_array_equal(labels, answers["labels"])
    np.testing.assert_array_equal(scores, answers["scores"])


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("saved_as", ["numba", "numpy"])
@pytest.mark.parametrize("backend", ["auto", "numba", "numpy"])
def test_an_old_model_answers_as_it_did(answers, saved_as, backend, mmap):
    clf = SWNNClassifier.load(FOLDER / saved_as, backend=backend, mmap=mmap, verify=True)
    assert clf.backend_ == (saved_as if backend == "auto" else backend)
    assert (clf.n_features_in_, clf.n_labels_) == (12, 5)
    assert len(clf.label_names_) == 5
    check_answers(clf, answers)


@pytest.mark.parametrize("saved_as", ["numba", "numpy"])
def test_it_is_saved_in_the_format_of_today(answers, saved_as, tmp_path):
    SWNNClassifier.load(FOLDER / saved_as).save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["format_version"] == 2
    if saved_as == "numpy":
        assert "index_quantised" in manifest["arrays"]
        assert "index_units" not in manifest["arrays"]
    check_answers(SWNNClassifier.load(tmp_path, verify=True), answers)
