"""Postings as the CUDA search takes them: 4 bytes each, tile by tile."""

from __future__ import annotations

from typing import Any, NamedTuple

from swnn_kernels.records import QuantisedRows

TILE_BITS = 13
"""A tile has 2**13 rows: their sums take 32 KB of a block's shared memory."""
MOST_POSTINGS = 2**32 - 1
MOST_NEIGHBOURS = 512
"""No more than the threads of a block, whose best bounds give the threshold."""
_BLOCKS = 1024  # that keep a large device busy
_CACHED_POSTINGS = 1 << 22  # that stay in the L2 cache while all queries of a batch read them
_LISTED = 2048  # rows listed for a query, beside those for each block that searches for it


class Tiles(NamedTuple):
    """For each tile of rows and each feature the rows that have it, with rounded values.

    A posting holds the row within its tile in its low bits and above them the quantised value,
    times 31/32 and rounded down.
    """

    directory: Any  # uint32, (n_tiles, ceil(n_features / 32), 2): which occur, slices before
    slices: Any  # uint32, (n_slices + 1,): where the postings of a tile's feature start
    postings: Any  # uint32, (nnz,)

    @classmethod
    def of(cls, xp: Any, rows: QuantisedRows, bits: int = TILE_BITS) -> Tiles:
        """Sort rows into tiles of ``2**bits``; `xp` is NumPy or CuPy.

        Examples
        --------
        >>> import numpy as np
        >>> arrays = (np.asarray(a, np.int32) for a in ([0, 1, 2], [5, 5], [33, -33]))
        >>> tiles = Tiles.of(np, QuantisedRows(*arrays, 6))
        >>> tiles.directory.tolist(), tiles.slices.tolist()
        ([[[32, 0]]], [0, 2])
        >>> (tiles.postings & 8191).tolist(), (tiles.postings.view(np.int32) >> 13).tolist()
        ([0, 1], [0, -1])
        """
        indptr, indices, quantised, n_features = rows
        n_rows, n_words = rows.n_rows, -(-n_features // 32)
        n_tiles = -(-n_rows // (1 << bits))
        row = xp.repeat(xp.arange(n_rows, dtype=xp.int32), indptr[1:] - indptr[:-1])
        slice_keys = (row >> bits).astype(xp.int64) * n_features + indices
        order = xp.argsort(slice_keys, kind="stable")
        slice_keys = slice_keys[order]
        values = (quantised * 31 >> bits - 3) << bits
        postings = (values | row & ((1 << bits) - 1)).astype(xp.int32)[order].view(xp.uint32)
        is_first = xp.ones(slice_keys.shape, dtype=bool)
        is_first[1:] = slice_keys[1:] != slice_keys[:-1]
        starts = xp.flatnonzero(is_first)
        slice_keys = slice_keys[starts]
        feature = slice_keys % n_features
        word = slice_keys // n_features * n_words + feature // 32
        masks = xp.bincount(word, weights=2.0 ** (feature % 32), minlength=n_tiles * n_words)
        sizes = xp.bincount(word, minlength=n_tiles * n_words)
        directory = xp.stack([masks, xp.cumsum(sizes) - sizes], axis=1)
        return cls(
            directory.astype(xp.uint32).reshape(n_tiles, n_words, 2),
            xp.concatenate([starts, xp.asarray([row.shape[0]])]).astype(xp.uint32),
            postings,
        )

    def ranges(self, n_queries: int) -> int:
        """How many blocks share the tiles of a query."""
        wanted = max(-(-_BLOCKS // n_queries), -(-self.postings.size // _CACHED_POSTINGS))
        return min(wanted, self.directory.shape[0])


def most_listed(ranges: int, n_neighbors: int) -> int:
    """Rows that may be listed for a query."""
    return _LISTED + 2 * ranges * min(n_neighbors, MOST_NEIGHBOURS)
