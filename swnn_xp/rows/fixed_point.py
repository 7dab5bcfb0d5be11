"""The scales of the fixed-point arithmetic. `docs/method/exactness.md` says why they are these.

Those that the kernels need too come from there.
"""

from __future__ import annotations

from swnn_kernels.scales import COS_SCALE, FRACTION_BITS, MAGNITUDE_SCALE, VOTE_SCALE

__all__ = [
    "DOT_SCALE",
    "LARGEST_QUANTISED",
    "MAGNITUDE_SCALE",
    "QUANTISED_BITS",
    "QUANTISED_SCALE",
    "WEIGHT_SCALE",
    "WORD_BITS",
]

QUANTISED_BITS = FRACTION_BITS
"""A unit row's value is stored as the integer nearest to itself times ``2**23``."""

QUANTISED_SCALE = 2.0**QUANTISED_BITS

LARGEST_QUANTISED = 2**QUANTISED_BITS
"""No quantised value is larger in magnitude."""

WORD_BITS = 24
"""Squares are summed in two words of this many bits, so that no row is too long for int64."""

DOT_SCALE = COS_SCALE
"""Turns the dot product of two quantised rows into their cosine."""

WEIGHT_SCALE = VOTE_SCALE
"""The weight of a vote is stored as the integer nearest to itself times ``2**40``."""
