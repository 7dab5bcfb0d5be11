"""Label models as they are stored and scored: 16-bit weights with one scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.rank import SCORE_BITS
from swnn_kernels.learn.scorer import Ranker
from swnn_xp.learn.descent import LabelModels
from swnn_xp.rows.fixed_point import QUANTISED_BITS

MOST_WEIGHT_BITS = SCORE_BITS - QUANTISED_BITS
"""Most bits of the scale of weights: beyond, a dot product would be finer than a score."""
_LARGEST = 2**15 - 1


def quantise_models(models: LabelModels, tables: NDArray[np.int64], least_shift: int = 0) -> Ranker:
    """Round weights to 16 bits with one power of two as scale; those that become 0 are dropped.

    Parameters
    ----------
    models : LabelModels
    tables : array of int64, (2, n_cuts, N_BINS)
        Vote score of labels without and with a model.
    least_shift : int
        Of the scale, where other models have one already.

    Examples
    --------
    >>> models = LabelModels(np.asarray([0, 2]), np.asarray([0, 3], np.int32),
    ...                      np.asarray([1.5, -0.25], np.float32), np.asarray([0.5]),
    ...                      np.ones(1, np.uint8), np.zeros(4, np.int64))
    >>> found = quantise_models(models, np.zeros((2, 1, 1281), np.int64))
    >>> found.shift, found.weights.tolist(), found.biases.tolist() == [2**37]
    (1, [24576, -4096], True)
    """
    largest = float(np.abs(models.weights).max(initial=0.0))
    bits = MOST_WEIGHT_BITS - least_shift
    while bits > 0 and largest * 2.0**bits > _LARGEST:
        bits -= 1
    rounded = np.rint(models.weights.astype(np.float64) * 2.0**bits)
    weights = np.clip(rounded, -_LARGEST, _LARGEST).astype(np.int16)
    kept = weights != 0
    return Ranker(
        indptr=np.concatenate([[0], np.cumsum(kept)])[models.indptr],
        features=models.features[kept],
        weights=weights[kept],
        biases=np.rint(models.biases * 2.0**SCORE_BITS).astype(np.int64),
        modelled=models.modelled,
        tables=tables.reshape(-1),
        shift=MOST_WEIGHT_BITS - bits,
    )
