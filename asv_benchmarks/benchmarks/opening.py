"""Opening a saved model, mapped into memory, and importing the package."""

from __future__ import annotations

from swnn_xp import SWNNClassifier

from .common import Suite, queries


class Opening(Suite):
    def setup(self):
        self.query = queries(1)
        SWNNClassifier.load("model").predict_topk(self.query)

    def time_open(self):
        SWNNClassifier.load("model")

    def time_open_and_answer(self):
        SWNNClassifier.load("model").predict_topk(self.query)

    def peakmem_open(self):
        SWNNClassifier.load("model")


class Importing:
    """A fresh interpreter each time."""

    repeat = (3, 5, 10.0)
    number = 1

    def timeraw_import(self):
        return "import swnn_xp"

    def timeraw_import_numpy_and_scipy(self):
        """What of it no change of ours can save."""
        return "import numpy, scipy.sparse"
