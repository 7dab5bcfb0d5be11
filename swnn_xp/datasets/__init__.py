"""Data sets: one in the package, others on disk by name, and synthetic twins of the paper's."""

from ._dataset import Dataset
from ._describe import Description, available, describe
from ._load import load
from ._paper import PAPER_SUMMARIES
from ._registry import Published, find_published
from ._shapes import SHAPES
from ._twins import make_twin

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
