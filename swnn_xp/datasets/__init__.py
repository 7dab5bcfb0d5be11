"""Data sets: one in the package, others on disk by name, and synthetic twins of the paper's."""

from swnn_xp.datasets.reading import (
    Dataset,
    Description,
    Published,
    available,
    describe,
    find_published,
    load,
)
from swnn_xp.datasets.twins import PAPER_SUMMARIES, SHAPES, make_twin

__all__ = [
    "PAPER_SUMMARIES",
    "SHAPES",
    "Dataset",
    "Description",
    "Published",
    "available",
    "describe",
    "find_published",
    "load",
    "make_twin",
]
