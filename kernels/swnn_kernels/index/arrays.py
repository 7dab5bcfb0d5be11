"""The arrays of an index as they are stored: their names and dtypes are the file format."""

from __future__ import annotations

from typing import NamedTuple, Self, get_args, get_type_hints

import numpy as np

from swnn_kernels.dtypes import Float32, Int32, Int64, Uint8, Uint16, Uint32, Uint64, frozen

KEY_BITS = 16
"""A word of ``forward_hi`` holds a value's high bits, with its sign, above a key."""
LO_BITS = 8
"""Low bits of a value, in ``forward_lo``."""

V1_ARRAY_NAMES = {
    "sizes": "sizes",
    "row_sizes": "row_sizes",
    "starts": "list_indptr",
    "rows": "list_rows",
    "units": "list_quantised",
    "frequent": "frequent_features",
    "ends": "forward_indptr",
    "pairs": "forward_hi",
    "lows": "forward_lo",
    "bits": "bitmaps",
    "firsts": "bitmap_indptr",
    "small": "level_small",
    "large": "level_large",
    "scales": "row_scales",
}
"""Names of the arrays in version 1 of the file format, and what they are called now."""


class StoredArrays(NamedTuple):
    """What an index is made of. "Padded" means to whole steps of 512 rows, with zeros."""

    sizes: Int64  # (2,): n_features, largest row size
    row_sizes: Int32  # (n_rows, padded)
    list_indptr: Int64  # (n_features + 1,): postings lists, one for each feature
    list_rows: Uint32  # ascending in a list
    list_quantised: Int32
    frequent_features: Int32  # (n_frequent,): ascending
    forward_indptr: Int64  # (n_rows + 1,): forward rows, the frequent features of each row
    forward_hi: Uint32  # see forward_entries.py
    forward_lo: Uint8
    bitmaps: Uint64  # (n_bitmaps, words): see geometry.py
    bitmap_indptr: Int32  # (n_frequent + 1,): one or two bitmaps of a feature, see levels.py
    level_small: Float32  # (n_frequent,)
    level_large: Float32  # (n_frequent,)
    row_scales: Uint16  # (n_rows, padded): upper halves of float32, see levels.py

    @classmethod
    def from_dict(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Take the arrays by name, read-only; ValueError if one is missing or of another dtype."""
        hints = get_type_hints(cls, include_extras=True)
        for name in cls._fields:
            dtype = get_args(hints[name])[1]
            if name not in arrays:
                raise ValueError(f"the index lacks the array {name!r}")
            if arrays[name].dtype != dtype or not arrays[name].flags.c_contiguous:
                raise ValueError(f"the index's array {name!r} must be contiguous {dtype.__name__}")
        return cls(*(frozen(arrays[name]) for name in cls._fields))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.forward_indptr.size) - 1

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.sizes[0])
