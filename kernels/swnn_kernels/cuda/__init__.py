"""CUDA sources of search and vote, as text; whoever has a CUDA compiler compiles them."""

from __future__ import annotations

from importlib import resources

SOURCES = ("scatter", "select", "vote")
OPTIONS = ("-std=c++17", "--fmad=false")
"""Contracting a product and a sum into one operation would round differently from a CPU."""


def source(name: str) -> str:
    """Text of one CUDA source.

    Examples
    --------
    >>> "__global__ void scatter" in source("scatter")
    True
    """
    return resources.files(__name__).joinpath(f"{name}.cu").read_text(encoding="utf-8")
