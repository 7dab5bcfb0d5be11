"""How much memory votes take: `votes.cuh` has the table."""

from __future__ import annotations

POOL = 3072
"""Words of 64 bits in shared memory: 24 KB, so that at least two blocks run at once."""


def pool_words(n_labels: int, n_cuts: int) -> int:
    """Words of global memory that votes for this many labels need; 0 if they fit shared memory.

    Examples
    --------
    >>> pool_words(600, 3), pool_words(700, 3)
    (0, 3507)
    """
    slots = n_labels + n_labels // 4 + 1
    return 0 if slots <= (POOL - n_cuts) // (n_cuts + 1) else (n_cuts + 1) * slots + n_cuts
