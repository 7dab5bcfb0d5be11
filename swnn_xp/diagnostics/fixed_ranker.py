"""A ranker whose integers are fixed, not trained: it ranks alike with every version."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from swnn_xp.classifier import SWNNClassifier
    from swnn_xp.ranker import SWNNRanker

_CUTS = 5, 25, 75
_CANDIDATES = 40
_STEP = 2**38  # of a score of 1


def fixed_ranker(clf: SWNNClassifier, weights: sp.csr_array) -> SWNNRanker:
    """Put a ranker on top of a fitted classifier.

    Parameters
    ----------
    clf : SWNNClassifier
        Its rows and labels are shared.
    weights : sparse matrix (n_labels, n_features)
        Small whole numbers. Every third label has no model.
    """
    # Imported here: they need numba, which the classifier's check does not.
    from swnn_kernels.learn.bins import N_BINS
    from swnn_kernels.learn.candidates import Selection
    from swnn_kernels.learn.scorer import Ranker
    from swnn_xp.learn.records import Learned
    from swnn_xp.learn.settings import Rule
    from swnn_xp.ranker import SWNNRanker

    label, bins = np.arange(weights.shape[0]), np.arange(2 * len(_CUTS) * N_BINS)
    ranker = Ranker(
        indptr=weights.indptr.astype(np.int64),
        features=weights.indices.astype(np.int32),
        weights=((weights.data - 2.5) * 1000).astype(np.int16),
        biases=(label % 7 - 3) * (_STEP // 16),
        modelled=(label % 3 != 0).astype(np.uint8),
        tables=(bins % N_BINS) // 64 * (_STEP // 64),
        shift=1,
    )
    made = SWNNRanker(_CUTS[-1], backend=clf.backend, device=clf.device)
    selection = Selection(_CUTS, _CANDIDATES, 1.0)
    n_features, params = clf.n_features_in_, made._learned_params()
    rule = Rule(1.0, 1.0, 0.0)
    learned = Learned(ranker, selection, 1.0, n_features, 1.0, rule, params=params)
    made._model = replace(clf._current_model(), learned=learned)
    return made
