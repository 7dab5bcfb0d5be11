"""CUDA sources of search, vote and ranking, as text for a CUDA compiler."""

from __future__ import annotations

import re
from importlib import resources

from swnn_kernels.cuda.tiles import MOST_NEIGHBOURS as MOST_NEIGHBOURS
from swnn_kernels.cuda.tiles import TILE_BITS as TILE_BITS
from swnn_kernels.cuda.tiles import Tiles as Tiles
from swnn_kernels.cuda.tiles import most_listed as most_listed

POOL = 3072
"""Words of 64 bits in shared memory, for votes: 24 KB, so that at least two blocks run at once."""

SOURCES = ("search", "select", "vote", "candidates", "scores")
OPTIONS = ("-std=c++17", "--fmad=false", f"-DTILE_BITS={TILE_BITS}", f"-DPOOL={POOL}")
"""Contracting a product and a sum into one operation would round differently from a CPU."""

_INCLUDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)


def source(name: str) -> str:
    """Text of one CUDA source, with the text of what it includes.

    Examples
    --------
    >>> "__global__ void vote_topk" in source("vote")
    True
    """
    return _text(f"{name}.cu")


def pool_words(n_labels: int, n_cuts: int) -> int:
    """Words of global memory that votes for this many labels need; 0 if they fit shared memory.

    `votes.cuh` has the table.

    Examples
    --------
    >>> pool_words(600, 3), pool_words(700, 3)
    (0, 3507)
    """
    slots = n_labels + n_labels // 4 + 1
    return 0 if slots <= (POOL - n_cuts) // (n_cuts + 1) else (n_cuts + 1) * slots + n_cuts


def _text(file: str) -> str:
    text = resources.files(__name__).joinpath(file).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda line: _text(line[1]), text)
