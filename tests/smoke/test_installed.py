"""The package as installed: runs against the wheel in a clean environment, and in the suite."""

import subprocess
import sys
from importlib.metadata import version

import numpy as np


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_both_packages_are_there():
    import swnn_kernels
    import swnn_xp

    assert swnn_xp.__version__ == version("swnn-xp")
    assert "HybridIndex" in dir(swnn_kernels)


def test_the_shipped_data_set_gets_good_labels():
    from swnn_xp import SWNNClassifier
    from swnn_xp.datasets import load

    data = load("debtags")
    clf = SWNNClassifier().fit(data.X_train, data.y_train)
    assert clf.score(data.X_test[:500], data.y_test[:500]) > 0.6
    probabilities = clf.predict_proba(data.X_test[:20])
    assert 0 <= probabilities.data.min() <= probabilities.data.max() <= 1 + 1e-9


def test_model_round_trip(tmp_path):
    from swnn_xp import SWNNClassifier

    X, Y = np.eye(4), np.eye(4)
    SWNNClassifier().fit(X, Y).save(tmp_path / "model")
    clf = SWNNClassifier.load(tmp_path / "model")
    assert clf.predict_topk(X, k=1).labels.tolist() == [[0], [1], [2], [3]]


def test_the_command_is_there():
    assert "usage: swnn" in run(sys.executable, "-m", "swnn_xp.cli.main", "--help")
