"""Sizes that the pruned search and its buffers share."""

from __future__ import annotations

PACK_BITS = 16
PACK = 1 << PACK_BITS
"""One accumulator holds dot * PACK + overlap while the overlap stays below PACK."""
OVERLAP_MASK = PACK - 1
LONGEST_QUERY = 20_000
"""Up to this many features, sums of weights are sure to fit 16 planes."""

LANES = 8
"""Rows that vectors of float32 hold."""
CHUNK = 16384
"""Rows whose accumulators stay in the cache at a time."""
FIRST = 65536
"""Up to this many rows, all bounds are stored to find a first threshold: of more, a chunk's."""
SUMS = FIRST + 640
"""Distance of the four parts of the row sums: at a power of two they would evict each other."""
CANDIDATES = 8192
"""Slots for candidates that wait for rescoring."""
BUCKETS = 1024
"""Of upper bounds, to order candidates by."""

PLANES = 16
"""Most planes of a vertical counter."""
SIGNIFICANT = 4
"""Most significant bits of a weight."""
WEIGHT_CLASSES = PLANES << (SIGNIFICANT - 1)
"""A power of two, more than there are weights of at most SIGNIFICANT bits."""
GROUP = 15
"""Most bitmaps counted together."""
GROUP_PLANES = 4
BLOCK = 8
"""Steps whose groups are counted at a time."""


def groups_of(longest: int) -> int:
    """Most groups of a query's bitmaps: the last one of each weight may be small."""
    return 2 * longest // GROUP + 2 * WEIGHT_CLASSES
