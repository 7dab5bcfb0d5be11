"""The hybrid index: postings lists of rare features, bitmaps and forward rows of frequent ones.

What is imported here needs no numba.
"""

from swnn_kernels.index.arrays import V1_ARRAY_NAMES
from swnn_kernels.index.decode import decode_rows

__all__ = ["V1_ARRAY_NAMES", "decode_rows"]
