"""Extreme multi-label classification by Sparse Weighted Nearest Neighbours.

Names are imported on first use, so that ``import swnn_xp`` is fast and loads neither numba nor a
GPU library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from swnn_xp._version import __version__

if TYPE_CHECKING:
    from swnn_xp.classifier import SWNNClassifier
    from swnn_xp.io import (
        read_label_features,
        read_names,
        read_pairs,
        read_svmlight,
        read_xmc,
        write_names,
        write_xmc,
    )
    from swnn_xp.learned_weights import LearnedWeights
    from swnn_xp.loading import load
    from swnn_xp.ranker import SWNNRanker
    from swnn_xp.results import Neighbours, RankedProbabilities, Ranking
    from swnn_xp.sklearn_api import ModelChangedError

__all__ = [
    "LearnedWeights",
    "ModelChangedError",
    "Neighbours",
    "RankedProbabilities",
    "Ranking",
    "SWNNClassifier",
    "SWNNRanker",
    "__version__",
    "load",
    "read_label_features",
    "read_names",
    "read_pairs",
    "read_svmlight",
    "read_xmc",
    "write_names",
    "write_xmc",
]

_HOMES = {
    "ModelChangedError": "swnn_xp.sklearn_api",
    "LearnedWeights": "swnn_xp.learned_weights",
    "SWNNRanker": "swnn_xp.ranker",
    "load": "swnn_xp.loading",
    "Neighbours": "swnn_xp.results",
    "RankedProbabilities": "swnn_xp.results",
    "Ranking": "swnn_xp.results",
    "SWNNClassifier": "swnn_xp.classifier",
    "read_label_features": "swnn_xp.io",
    "read_names": "swnn_xp.io",
    "read_pairs": "swnn_xp.io",
    "read_svmlight": "swnn_xp.io",
    "read_xmc": "swnn_xp.io",
    "write_names": "swnn_xp.io",
    "write_xmc": "swnn_xp.io",
}
_SUBMODULES = {"backends", "datasets", "io", "metrics", "tuning"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _SUBMODULES:
        return importlib.import_module(f"swnn_xp.{name}")
    raise AttributeError(f"module 'swnn_xp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES])
