"""The scales of the fixed-point arithmetic, for code with numba and without.

Why they are these: `docs/method/exactness.md`.
"""

from __future__ import annotations

FRACTION_BITS = 23
"""A unit value is stored as the integer nearest to itself times 2**23."""
MAGNITUDE_SCALE = 2.0**22
"""The first rounding: a row's largest magnitude becomes this integer."""
COS_SCALE = 2.0 ** (-2 * FRACTION_BITS)
"""The integer dot product of two unit rows times this is their cosine."""
VOTE_SCALE = 2.0**40
"""A vote's weight is the integer nearest to Sim**alpha times 2**40."""
MOST_VOTERS = 2**22
"""Neighbours whose votes are sure to fit into an int64: twice as many could overflow it."""
