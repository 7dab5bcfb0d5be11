"""Training on rows that are wrong, contradict each other or carry far too many labels."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from learn.problems import digest, rows_and_labels

from swnn_xp import LearnedWeights, SWNNRanker

X, Y = rows_and_labels(120, 15, 6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("estimator", [SWNNRanker, LearnedWeights])
def test_numbers_that_are_not_finite_are_refused(estimator, value):
    wrong = X.copy()
    wrong[7, 3] = value
    with pytest.raises(ValueError, match="X: row 7, column 3 is"):
        estimator(n_neighbors=9).fit(wrong, Y)


def test_a_refused_fit_leaves_the_model_as_it_was():
    clf = SWNNRanker(n_neighbors=9).fit(X, Y)
    before = digest(clf)
    with pytest.raises(ValueError, match="is NaN"):
        clf.fit(np.where(X > 1, np.nan, X), Y)
    assert digest(clf) == before


def test_copies_that_contradict_each_other_get_middling_probabilities():
    rows = np.repeat(X[:12], 10, axis=0)
    labels = np.tile(np.eye(2, dtype=int), (60, 1))  # each row has either label as often
    clf = SWNNRanker(n_neighbors=9).fit(rows, labels)
    likely = clf.predict_proba(rows[::10])
    likely = likely.toarray() if sp.issparse(likely) else likely
    assert ((likely > 0.1) & (likely < 0.9)).all()


def test_a_label_of_all_rows_comes_first():
    labels = np.hstack([np.zeros((120, 1), int), np.ones((120, 1), int)])
    assert (SWNNRanker(n_neighbors=9).fit(X, labels).predict_topk(X, 1).labels == 1).all()


def test_a_label_that_no_row_has_is_never_found():
    clf = SWNNRanker(n_neighbors=9).fit(X, np.hstack([Y, np.zeros((120, 2), int)]))
    assert clf.predict_topk(X, 8).labels.max() < 6
    assert digest(clf) == digest(SWNNRanker(n_neighbors=9).fit(X, np.hstack([Y, Y[:, :2] * 0])))


@pytest.mark.parametrize("n_labels", [100_000])
def test_a_row_with_very_many_labels(n_labels):
    """`make faults` has one with a million."""
    many = np.zeros((120, n_labels), bool)
    many[:, :6], many[60] = Y, True
    clf = SWNNRanker(n_neighbors=9).fit(X, sp.csr_array(many))
    labels, scores = clf.predict_topk(X, 5)
    assert np.isfinite(scores).all()
    usual = SWNNRanker(n_neighbors=9).fit(np.delete(X, 60, 0), np.delete(Y, 60, 0))
    hit = [np.take_along_axis(Y, found[:, :1], 1).mean() for found in
           (labels, usual.predict_topk(X, 5).labels)]  # fmt: skip
    assert hit[0] > hit[1] - 0.1, hit


SAVE = """
import sys
sys.path.insert(0, sys.argv[1])
from learn.problems import rows_and_labels
from swnn_xp import SWNNRanker
X, Y = rows_and_labels(120, 15, 6)
SWNNRanker(n_neighbors=9, n_jobs=int(sys.argv[2])).fit(X, Y).save(sys.argv[3])
"""


@pytest.mark.full  # test_training.py compares processes and threads too, without hash seeds
def test_saved_models_have_the_same_bytes_whatever_the_process(tmp_path):
    """Hash seeds and numbers of threads differ; files and manifests do not."""
    children = []
    for at, (n_jobs, hashing) in enumerate([("1", "0"), ("2", "1"), ("3", "random")]):
        command = [sys.executable, "-c", SAVE, str(Path(__file__).parents[1]), n_jobs]
        env = {"PYTHONHASHSEED": hashing, "PATH": ""}
        children.append(subprocess.Popen([*command, tmp_path / str(at)], env=env))
    assert [child.wait(300) for child in children] == [0, 0, 0]
    found = [contents(tmp_path / str(at)) for at in range(3)]
    assert found[0] == found[1] == found[2]


def contents(folder):
    """All files by name; the folder of the data is named by chance."""
    data = next(folder.glob("data-*"))
    manifest = (folder / "manifest.json").read_text().replace(data.name, "data")
    kept = [line for line in manifest.splitlines() if '"sha256": ' not in line or "bytes" in line]
    return kept, {file.name: file.read_bytes() for file in data.iterdir()}
