"""Choose S, alpha and beta on rows held out of the training set."""

from swnn_xp.tuning.grids import paper_grid, wide_grid
from swnn_xp.tuning.records import Setting, Trial, TuningResult
from swnn_xp.tuning.scoring import Split
from swnn_xp.tuning.search import tune

__all__ = ["Setting", "Split", "Trial", "TuningResult", "paper_grid", "tune", "wide_grid"]
