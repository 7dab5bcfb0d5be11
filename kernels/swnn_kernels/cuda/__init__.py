"""CUDA sources of search, vote and ranking, as text for a CUDA compiler."""

from __future__ import annotations

import re
from importlib import resources

from swnn_kernels.cuda.tally import POOL as POOL
from swnn_kernels.cuda.tally import pool_words as pool_words
from swnn_kernels.cuda.tiles import MOST_NEIGHBOURS as MOST_NEIGHBOURS
from swnn_kernels.cuda.tiles import TILE_BITS as TILE_BITS
from swnn_kernels.cuda.tiles import Tiles as Tiles
from swnn_kernels.cuda.tiles import most_listed as most_listed

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


def _text(file: str) -> str:
    text = resources.files(__name__).joinpath(file).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda line: _text(line[1]), text)
