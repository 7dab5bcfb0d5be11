"""The scales of the fixed-point arithmetic. `docs/method/exactness.md` says why they are these.

`swnn_kernels` knows nothing of this package and has constants of its own; a test compares them.
"""

from __future__ import annotations

QUANTISED_BITS = 23
"""A unit row's value is stored as the integer nearest to itself times ``2**23``."""

QUANTISED_SCALE = 2.0**QUANTISED_BITS

LARGEST_QUANTISED = 2**QUANTISED_BITS
"""No quantised value is larger in magnitude."""

MAGNITUDE_SCALE = 2.0**22
"""The first rounding: a row's largest magnitude becomes this integer."""

WORD_BITS = 24
"""Squares are summed in two words of this many bits, so that no row is too long for int64."""

DOT_SCALE = 2.0 ** (-2 * QUANTISED_BITS)
"""Turns the dot product of two quantised rows into their cosine."""

WEIGHT_SCALE = 2.0**40
"""The weight of a vote is stored as the integer nearest to itself times ``2**40``."""
