"""Data sets: one shipped, others found on disk by name, and synthetic twins of the paper's."""

from ._dataset import Dataset
from ._describe import Description, available, describe
from ._load import load
from ._registry import Published

__all__ = ["Dataset", "Description", "Published", "available", "describe", "load"]
