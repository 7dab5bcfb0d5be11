"""The scales of the method: one home, in the kernels, and no number too large for its word."""

import numpy as np

from swnn_xp.rows import canonical as ours
from swnn_xp.rows.canonical import LARGEST_QUANTISED, MAGNITUDE_SCALE, QUANTISED_SCALE, WORD_BITS


def test_the_scales_are_those_of_the_method():
    assert ours.QUANTISED_BITS == 23
    assert ours.DOT_SCALE == QUANTISED_SCALE**-2 == 2.0**-46
    assert ours.WEIGHT_SCALE == 2.0**40
    assert MAGNITUDE_SCALE == 2.0**22
    assert LARGEST_QUANTISED == QUANTISED_SCALE


def test_two_words_hold_the_longest_row():
    """Squares are at most 2**44; each word of the sum of 2**31 - 1 of them fits int64."""
    longest = 2**31 - 1
    largest = int(MAGNITUDE_SCALE) ** 2
    assert longest * (largest >> WORD_BITS) < np.iinfo(np.int64).max
    assert longest * ((1 << WORD_BITS) - 1) < np.iinfo(np.int64).max
