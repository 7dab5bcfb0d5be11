"""The hybrid index: inverted lists of rare features, bitmaps and forward rows of frequent ones."""

from swnn_kernels.index.arrays import V1_ARRAY_NAMES

__all__ = ["V1_ARRAY_NAMES"]
