"""CUDA sources of search, vote and ranking, as text for a CUDA compiler."""

from __future__ import annotations

import re
from importlib import resources

SOURCES = ("scatter", "select", "vote", "candidates", "scores")
OPTIONS = ("-std=c++17", "--fmad=false")
"""Contracting a product and a sum into one operation would round differently from a CPU."""


_INCLUDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)


def source(name: str) -> str:
    """Text of one CUDA source, with the text of what it includes.

    Examples
    --------
    >>> "__global__ void scatter" in source("scatter")
    True
    """
    return _INCLUDE.sub(lambda line: _text(line[1]), _text(f"{name}.cu"))


def _text(file: str) -> str:
    return resources.files(__name__).joinpath(file).read_text(encoding="utf-8")
