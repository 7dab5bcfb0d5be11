"""Bins of shares: a share decides which entry of a table it looks up.

The bin of a share is the number of knots at or below ``share + 2**-10``, less one. Knots are evenly
spaced within each power of two, so the bin is also the leading bits of the sum as an IEEE float64:
one addition and one shift find it, and a binary search among the knots gives the same.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import inline, kernel

SHARE_SHIFT = 2.0**-10
"""Added to a share, so that its logarithm exists."""
MANTISSA_BITS = 7
N_BINS = (10 << MANTISSA_BITS) + 1
"""Bins of a cut: ten powers of two, and the share 1."""
_FIRST = (1023 - 10) << MANTISSA_BITS
_DROPPED = 52 - MANTISSA_BITS


@inline
def bin_of(share):  # type: ignore[no-untyped-def]
    """Find the bin of a share between 0 and 1; any other number gets the first or the last bin."""
    bits = np.float64(share + SHARE_SHIFT).view(np.int64)
    return min(max((bits >> _DROPPED) - _FIRST, np.int64(0)), np.int64(N_BINS - 1))


@kernel
def fill_bins(shares, bins):  # type: ignore[no-untyped-def]
    """Find the bin of each share; both arrays are flat."""
    for i in range(shares.size):
        bins[i] = bin_of(shares[i])
